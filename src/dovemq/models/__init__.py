"""Models of queues and of what they deliver: they stand alone and import nothing else of DoveMQ.

Needs the extra `models` (numpy; numba where speed matters).
"""
