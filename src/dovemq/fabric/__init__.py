"""One queue over many partitions: how receives search them, and how a queue sizes itself.

`autonomic` and `dequeue` only decide: they do no I/O, read no clock and keep no state. What carries
out their decisions lives beside them.
"""
