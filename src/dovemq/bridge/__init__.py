"""Bridges from other messaging systems to queues, by the public API.

Today there is one: messages of an MQTT broker become messages of queues. The package owns topic
filters, routes, the form of a message, and the order of acknowledgements. A broker of our own is
no part of it.
"""
