"""Event simulation of the tandem of `vma`: state, kernel, result."""
