"""Timed coloured Petri nets with pages: built in Python or read from files, run and explored."""
