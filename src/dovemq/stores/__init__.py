"""The stores behind the ports of `core/ports.py`: in memory, and embedded on disk."""
