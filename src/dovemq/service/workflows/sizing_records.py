"""Decisions of resource managers: as they are published, and as they are kept for an account.

The service does not verify what a manager says about itself. Rounds in which a manager changes
nothing for the same cause are one record with the figures of the newest round.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from dovemq.core.ports import Clock, Store
from dovemq.service.recent import RecentRecords

DECISIONS_KEPT: Final = 200
NAMES_MAX: Final = 100
"""Topics, or types, of one decision."""

Name = Annotated[str, Meta(min_length=1, max_length=64)]
Sentence = Annotated[str, Meta(max_length=1_000)]
Figure = Annotated[float, Meta(ge=0, le=1e15)]
Whole = Annotated[int, Meta(ge=0, le=2**53)]


class TopicSizing(Struct, frozen=True, forbid_unknown_fields=True):
    """Consumers of a topic before and after, and the work that is offered to each of them.

    `service_rate` is that of one consumer in a second; `samples` is 0 while it is only assumed.
    """

    before: Whole
    after: Whole
    service_rate: Figure
    service_scv: Figure
    samples: Whole
    waiting: Whole
    running: Whole
    utilisation_before: Figure | None = None
    utilisation_after: Figure | None = None
    missing: Whole = 0


class TypeSizing(Struct, frozen=True, forbid_unknown_fields=True):
    """Arrivals of a type of jobs in a second, and its response times: measured and predicted."""

    arrival_rate: Figure
    arrival_scv: Figure
    ended: Whole
    running: Whole
    overdue: Whole
    measured_ms: Figure | None = None
    predicted_before_ms: Figure | None = None
    predicted_after_ms: Figure | None = None


class SizingReport(Struct, frozen=True, forbid_unknown_fields=True):
    """One decision of a resource manager. A predicted time is null where a topic is unstable."""

    at_ms: Whole
    cause: Name
    reason: Sentence
    allocator: Name
    span_ms: Whole
    topics: Annotated[dict[Name, TopicSizing], Meta(max_length=NAMES_MAX)]
    types: Annotated[dict[Name, TypeSizing], Meta(max_length=NAMES_MAX)]
    note: Sentence = ""
    measured_ms: Figure | None = None
    predicted_before_ms: Figure | None = None
    predicted_after_ms: Figure | None = None

    @property
    def changes(self) -> bool:
        return any(each.before != each.after for each in self.topics.values())


class SizingRecord(Struct, frozen=True):
    """A decision with the account that published it; `rounds` are joined from `first_ms` on."""

    report: SizingReport
    published_ms: int
    published_by: str
    first_ms: int
    rounds: int = 1


class SizingRecords:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._clock = clock
        self._records = RecentRecords(store, clock, "sizing", SizingRecord, DECISIONS_KEPT)

    async def publish(self, account: str, report: SizingReport, by: str) -> SizingRecord:
        now_ms = self._clock.now_ms()
        return await self._records.add(account, SizingRecord(report, now_ms, by, now_ms), _joined)

    async def newest(self, account: str) -> SizingRecord | None:
        return await self._records.newest(account)

    async def page(self, account: str, count_max: int) -> list[SizingRecord]:
        return await self._records.page(account, count_max)


def _joined(newest: SizingRecord, record: SizingRecord) -> SizingRecord | None:
    """Both rounds as one record, if neither changed anything and their cause is the same."""
    if newest.report.changes or record.report.changes or _said(newest) != _said(record):
        return None
    return msgspec.structs.replace(record, first_ms=newest.first_ms, rounds=newest.rounds + 1)


def _said(record: SizingRecord) -> tuple[object, ...]:
    report = record.report
    consumers = {name: each.after for name, each in report.topics.items()}
    return report.cause, report.allocator, report.note, record.published_by, consumers
