"""Parts of the machine that the product uses: clock, garbage collector, private files."""
