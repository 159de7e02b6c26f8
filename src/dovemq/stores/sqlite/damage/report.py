"""Reports on damage: messages that were lost, and messages that came back."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

LISTED_MAX: Final = 100_000
"""Messages that a report names; it counts all of them."""

LINES_MAX: Final = 1_000


class DamagedMessage(Struct, frozen=True):
    queue: str
    """The queue as `account/name`; its number when the queue is removed."""
    sequence: int
    reason: str
    message_id: str | None = None
    """None when the id was lost, or an older release wrote the message."""

    def line(self) -> str:
        name = self.message_id or "of unknown id"
        return f"queue {self.queue}, message {name} (sequence {self.sequence}): {self.reason}"


class DamageReport(Struct, frozen=True):
    """The result of rebuilding a damaged database.

    Messages in `lost` cannot be delivered any more. Those in `returned` are whole, but their lease,
    delay and receive count were lost: they are visible again.
    """

    found_ms: int
    evidence: str
    """Path of the damaged files, relative to the data directory."""
    kept: int
    """Number of messages in the new database."""
    notes: tuple[str, ...] = ()
    """Damaged pages, and damage that concerns no single message."""
    lost: tuple[DamagedMessage, ...] = ()
    lost_count: int = 0
    returned: tuple[DamagedMessage, ...] = ()
    returned_count: int = 0
    unnamed_count: int | None = None
    """Lost messages that are not in `lost`; None when the number of messages was lost too."""

    def lines(self) -> Iterator[str]:
        for note in self.notes:
            yield f"{self.evidence}: {note}"
        for listed, count in ((self.lost, self.lost_count), (self.returned, self.returned_count)):
            for each in listed[:LINES_MAX]:
                yield f"{self.evidence}: {each.line()}"
            if count > LINES_MAX:
                yield f"{self.evidence}: {count - LINES_MAX} more like the last; see its report"


class DamageReportBuilder:
    """Collects findings while a database is rebuilt."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.lost: list[DamagedMessage] = []
        self.returned: list[DamagedMessage] = []

    def report(self, found_ms: int, evidence: str, kept: int, stored: int | None) -> DamageReport:
        """`stored`: how many messages there were, if that is known."""
        unnamed = None if stored is None else max(0, stored - kept - len(self.lost))
        notes = self.notes[:LINES_MAX]
        if unnamed:
            notes.append(f"{unnamed} messages of {stored} are lost without a name")
        return DamageReport(
            found_ms,
            evidence,
            kept,
            tuple(notes),
            tuple(self.lost[:LISTED_MAX]),
            len(self.lost),
            tuple(self.returned[:LISTED_MAX]),
            len(self.returned),
            unnamed,
        )
