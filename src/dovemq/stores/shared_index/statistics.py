"""Counters of one front end for a queue without an owner. They only rise."""

from msgspec import Struct


class IndexStatistics(Struct):
    receives: int = 0
    empty: int = 0
    claims: int = 0
    """Messages that were claimed to be delivered."""
    sampled: int = 0
    """Claims that were compared with those of others: of one message in `SAMPLE_ONE_IN`."""
    collided: int = 0
    """Sampled claims at which somebody else claimed the same tuple. Only `none`."""
    refused: int = 0
    """Compare-and-sets that another claim was before. Only `serial`."""
    unknown: int = 0
    """Compare-and-sets whose answer was lost, so that the row was read back. Only `serial`."""
    stale: int = 0
    """Tuples of settled messages that were met and removed."""
    unseen: int = 0
    """Tuples that were put off since no replica that answered had their message."""
    late: int = 0
    """Insertions that took so long that they were repeated."""
    closed: int = 0
    """Buckets that were dropped."""

    def add(self, other: "IndexStatistics") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
