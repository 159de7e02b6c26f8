"""Front ends as one service: membership, ownership of partitions, the shared catalogue."""
