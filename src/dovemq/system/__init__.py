"""What the product takes from the machine it runs on: clock, garbage collector, private files."""
