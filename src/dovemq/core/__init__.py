"""The rules of a queue, without I/O, clocks or randomness of their own."""
