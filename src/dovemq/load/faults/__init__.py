"""Injects faults of the network, clients, server, disk and clock, drawn from a seed.

The checker judges their effects. Faults of disk and clock need Linux.
"""
