"""What a queue is: values and rules without I/O, clocks or randomness of their own."""
