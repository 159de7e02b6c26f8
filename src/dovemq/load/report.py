"""What the checker found, as a value: counts, figures, and the histories of the first culprits."""

from collections.abc import Mapping

from msgspec import Struct

from dovemq.load.judgement import Cause, Violation


class RequestCounts(Struct, frozen=True):
    """What became of sends, or of settles, as their clients know it."""

    acknowledged: int
    refused: int
    unknown: int


class Culprit(Struct, frozen=True):
    """A message that was not treated as it must be, and all that was seen of it."""

    faults: tuple[Violation, ...]
    queue: str
    sender: int
    send_seq: int
    history: tuple[str, ...]


class CheckReport(Struct, frozen=True):
    """`messages`: acknowledged, or received although no acknowledgement came back.

    `in_doubt` were neither acknowledged nor received, and count for nothing. `received` are
    messages, `receives` how often any was received. `left` were received and their settle was
    not acknowledged. `late` are messages first received after a later one of their stream,
    whether order was promised or not. `faults` counts messages; a message may have several.
    """

    sends: RequestCounts
    settles: RequestCounts
    messages: int
    in_doubt: int
    receives: int
    received: int
    left: int
    late: int
    duplicates: Mapping[Cause, int]
    faults: Mapping[Violation, int]
    allowed: tuple[Violation, ...]
    rates: Mapping[str, float]
    culprits: tuple[Culprit, ...]

    @property
    def failed(self) -> bool:
        return any(count for fault, count in self.faults.items() if fault not in self.allowed)
