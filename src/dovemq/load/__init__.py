"""Drives a queue service with senders and receivers, and accounts for every message.

It uses the public SQS API as any client does. The verdict relies only on the journals of the
clients, never on what the server reports. Needs the extra `models`.
"""
