"""The result of a check: counts, rates, and the histories of the first violating messages."""

from collections.abc import Mapping

from msgspec import Struct

from dovemq.load.judgement import Cause, Violation


class RequestCounts(Struct, frozen=True):
    """The outcomes of sends, or of settles, as far as their clients know."""

    acknowledged: int
    refused: int
    unknown: int


class Culprit(Struct, frozen=True):
    """A message that violates the rules, and everything that was seen of it."""

    faults: tuple[Violation, ...]
    queue: str
    sender: int
    send_seq: int
    history: tuple[str, ...]


class CheckReport(Struct, frozen=True):
    """The account of all messages of a run.

    `messages` were acknowledged, or received without an acknowledgement. `in_doubt` were neither
    acknowledged nor received, and are not counted. `received` counts messages, `receives` all
    receives. `left` were received and not settled with an acknowledgement. `late` were first
    received after a later message of their stream, whether order was required or not. `faults`
    counts messages; a message may have several.
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
