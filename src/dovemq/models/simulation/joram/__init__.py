"""Event simulation of a queue whose clients are pinned to partitions, by the paper `joram`."""
