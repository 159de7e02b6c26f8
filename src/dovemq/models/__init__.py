"""Performance models of queues and measures of their consistency, apart from the rest of DoveMQ.

Needs the extra `models` (numpy; numba where speed matters). `live` and `consistency` work without.
"""
