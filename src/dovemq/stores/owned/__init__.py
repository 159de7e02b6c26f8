"""An index in memory over a journal: the part that all durable stores share."""
