"""The counts of the checker by a plain implementation: dicts, and every message judged."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from dovemq.load.journals import RequestOutcome
from dovemq.load.judgement import (
    Cause,
    MessageVerdict,
    ReceiveRecord,
    SendRecord,
    Slack,
    Violation,
    judge,
)
from dovemq.load.reading import Kept
from dovemq.models.consistency import Consistency
from tests.models import oracle

Key = tuple[int, int, int]
Row = TypeVar("Row", SendRecord, ReceiveRecord)


def plainly_checked(journals: Sequence[Kept], slack: Slack) -> dict[str, Any]:
    attempts: dict[Key, list[SendRecord]] = _by_key(journals, "sender", SendRecord)
    deliveries: dict[Key, list[ReceiveRecord]] = _by_key(journals, "receiver", ReceiveRecord)
    for rows in deliveries.values():
        rows.sort(key=lambda each: (each.received_us, each.place))
    judged = {key: judge(attempts[key], deliveries[key], slack) for key in {*attempts, *deliveries}}
    order, late = _order(judged, deliveries)
    faults = Counter(fault for each in judged.values() for fault in each.faults)
    faults[Violation.LATE] = late
    causes = Counter(cause for each in judged.values() for cause in each.causes)
    stored = {key for key, each in judged.items() if each.stored}
    lost = [key for key in stored if not (deliveries[key] and judged[key].intact)]
    return {
        "messages": len(stored),
        "in_doubt": sum(
            any(each.outcome != RequestOutcome.REFUSED for each in rows)
            for key, rows in attempts.items()
            if key not in stored
        ),
        "left": sum(
            bool(rows) and all(each.outcome != RequestOutcome.ACKNOWLEDGED for each in rows)
            for rows in deliveries.values()
        ),
        "receives": sum(map(len, deliveries.values())),
        "received": sum(map(bool, deliveries.values())),
        "late": late,
        "duplicates": {cause: causes[cause] for cause in Cause},
        "faults": {fault: faults[fault] for fault in Violation},
        "rates": (
            order + Consistency(messages=len(stored), duplicates=causes.total(), absent=len(lost))
        ).rates,
    }


def _by_key(journals: Sequence[Kept], kind: str, row: type[Row]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = defaultdict(list)
    for journal in journals:
        if journal.heading.kind != kind:
            continue
        for place, values in enumerate(journal.rows):
            told = {name: values[name].item() for name in journal.rows.dtype.names}
            columns = {name: told.get(name, place) for name in row.__struct_fields__}
            found[told["queue"], told["sender"], told["send_seq"]].append(row(**columns))
    return found


def _order(
    judged: dict[Key, MessageVerdict], deliveries: dict[Key, list[ReceiveRecord]]
) -> tuple[Consistency, int]:
    streams: dict[tuple[int, int], list[ReceiveRecord]] = defaultdict(list)
    for (queue, sender, _), rows in deliveries.items():
        key = (queue, sender, rows[0].send_seq) if rows else None
        if key and Violation.STRANGE not in judged[key].faults:
            streams[queue, sender].append(rows[0])
    order, late = Consistency(), 0
    for firsts in streams.values():
        firsts.sort(key=lambda each: (each.received_us, each.place))
        seqs = [each.send_seq for each in firsts]
        late += sum(seq < max(seqs[:place], default=0) for place, seq in enumerate(seqs))
        measured = oracle.consistency([], [(seq, True) for seq in seqs])
        order += measured
    return order, late
