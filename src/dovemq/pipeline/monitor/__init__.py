"""Measures the consistency of queues while their traces grow, with Structured Streaming.

watch.py      the bounded state of one queue, from rows to figures
memory.py     the remembered messages
streams.py    the order of each sender's messages
directory.py  the directory of a monitor, from which it continues
job.py        the query
"""
