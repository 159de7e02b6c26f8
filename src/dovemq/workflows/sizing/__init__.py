"""The resource manager (`elastic`): a monitor, a scheduler and allocators of consumers.

The monitor turns records of jobs into rates, the scheduler turns rates into consumers of each topic
by `models.planning`, and an allocator makes it so. The first two are pure; `loop.py` drives them.
"""
