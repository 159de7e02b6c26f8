"""What was lost and what came back when a damaged database was rebuilt."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

LISTED_MAX: Final = 100_000
"""Messages that a report names; it counts them all."""

LINES_MAX: Final = 1_000


class Named(Struct, frozen=True):
    """`queue` as `account/name`; the id is None where it was lost with the message."""

    queue: str
    message_id: str | None
    sequence: int
    reason: str

    def line(self) -> str:
        name = self.message_id or "of unknown id"
        return f"queue {self.queue}, message {name} (sequence {self.sequence}): {self.reason}"


class DamageReport(Struct, frozen=True):
    """`lost` cannot be delivered any more. `returned` are whole, but their lease, delay and receive
    count were lost: they are visible again. `notes` tell of pages, and of what has no name."""

    found_ms: int
    evidence: str
    """Where the damaged files are, within the data directory."""
    kept: int
    """Messages that the new database has."""
    notes: tuple[str, ...] = ()
    lost: tuple[Named, ...] = ()
    lost_count: int = 0
    returned: tuple[Named, ...] = ()
    returned_count: int = 0
    unnamed_count: int | None = None
    """Lost without a name; None when it is not known how many messages there were."""

    def lines(self) -> Iterator[str]:
        for note in self.notes:
            yield f"{self.evidence}: {note}"
        for named, count in ((self.lost, self.lost_count), (self.returned, self.returned_count)):
            for each in named[:LINES_MAX]:
                yield f"{self.evidence}: {each.line()}"
            if count > LINES_MAX:
                yield f"{self.evidence}: {count - LINES_MAX} more like the last; see its report"


class DamageReportBuilder:
    """A report as it grows."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._lost: list[Named] = []
        self._returned: list[Named] = []
        self._lost_count = 0
        self._returned_count = 0

    def note(self, text: str) -> None:
        if len(self.notes) < LINES_MAX:
            self.notes.append(text)

    def lost(self, named: Named) -> None:
        self._lost_count += 1
        if len(self._lost) < LISTED_MAX:
            self._lost.append(named)

    def returned(self, named: Named) -> None:
        self._returned_count += 1
        if len(self._returned) < LISTED_MAX:
            self._returned.append(named)

    def report(self, found_ms: int, evidence: str, kept: int, stored: int | None) -> DamageReport:
        """`stored`: how many messages there were, if that is known."""
        unnamed = None if stored is None else max(0, stored - kept - self._lost_count)
        if unnamed:
            self.note(f"{unnamed} messages of {stored} are lost without a name")
        return DamageReport(
            found_ms,
            evidence,
            kept,
            tuple(self.notes),
            tuple(self._lost),
            self._lost_count,
            tuple(self._returned),
            self._returned_count,
            unnamed,
        )
