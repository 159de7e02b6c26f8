"""Event simulation of a queue over many partitions by the paper `rds`: state, kernel, result."""
