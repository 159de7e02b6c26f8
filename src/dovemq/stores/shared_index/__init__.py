"""Queues without an owner: their index is in the database, over the port of `ports.py`."""
