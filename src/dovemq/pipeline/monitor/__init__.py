"""Consistency of queues while their traces grow: Structured Streaming with a state of our own.

watch.py      one queue: rows in, figures out; what it remembers is bounded
memory.py     the messages that it remembers
streams.py    the order of each sender's messages
steps.py      one micro-batch: events and states to new states, all queues at once
place.py      the directory that a monitor lives in, and goes on from
job.py        the query
"""
