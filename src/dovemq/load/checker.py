"""The checker: accounts for every message of a run, from its journals alone.

Sends and receives are sorted by message and compared. First receives get a rank in their stream,
are sorted by time, and measured for order. Memory holds at most `rows_max` rows, unless one message
has more.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovemq.core import limits
from dovemq.load.histories import Histories, MessageKey
from dovemq.load.journals import RECEIVE, SEND, JournalHeader, RequestOutcome
from dovemq.load.judgement import (
    Cause,
    CheckReport,
    MessageVerdict,
    ReceiveRecord,
    RequestCounts,
    SendRecord,
    Slack,
    Violation,
    judge,
)
from dovemq.load.ordering import FIRST_RECEIVE, Ordering, Ranks
from dovemq.load.reading import BLOCK_ROWS, Rows, Source
from dovemq.load.sieve import KEY, MessageGroups, grouped, plain
from dovemq.load.sorting import Sorter, in_ranges
from dovemq.models.consistency import Consistency

ROWS_MAX: Final = 2_000_000
"""The most rows in memory, at about 200 bytes each."""
HISTORIES_MAX: Final = 10

_OUTCOMES: Final = (RequestOutcome.ACKNOWLEDGED, RequestOutcome.REFUSED, RequestOutcome.UNKNOWN)
"""The outcomes that a report counts, in the order of RequestCounts."""
SENDS: Final = np.dtype([(name, SEND[name]) for name in SendRecord.__struct_fields__])
RECEIVES: Final = np.dtype(
    [
        (name, np.int64 if name == "place" else RECEIVE[name])
        for name in ReceiveRecord.__struct_fields__
    ]
)


class Rules(Struct, frozen=True):
    """The requirements that a service is checked against.

    `in_order` requires order on every queue; FIFO queues are always required to keep it. Violations
    in `allowed` are counted and reported, but do not fail the check. `histories_max` is the number
    of messages whose history is reported, for each violation. `named` has the ids of messages that
    the service itself has reported as lost or returned, in the form of `kept_id`.
    """

    in_order: bool = False
    allowed: frozenset[Violation] = frozenset()
    slack: Slack = Slack()
    histories_max: int = HISTORIES_MAX
    named: frozenset[bytes] = frozenset()


STRICT: Final = Rules()


def check(
    journals: Sequence[Source],
    rules: Rules = STRICT,
    *,
    rows_max: int = ROWS_MAX,
    progress: Callable[[int], None] = lambda rows: None,
) -> CheckReport:
    """Checks the journals of one run.

    Rows beyond `rows_max` go to temporary files. `progress` is called often, with the number of
    rows read since the last call; an exception that it raises ends the check.
    """
    return _Check(journals, rules, rows_max, progress).run()


class _Check:
    def __init__(
        self,
        journals: Sequence[Source],
        rules: Rules,
        rows_max: int,
        progress: Callable[[int], None],
    ) -> None:
        self._journals = journals
        self._rules = rules
        self._progress = progress
        self._third = third = max(1, rows_max // 3)
        self._sends = Sorter(SENDS, (*KEY, "sent_us"), third)
        self._receives = Sorter(RECEIVES, (*KEY, "received_us", "place"), third)
        self._firsts = Sorter(FIRST_RECEIVE, Ordering.KEYS, third)
        self._ranks = Ranks()
        self._counts: Counter[str] = Counter()
        self._outcomes: dict[str, Counter[int]] = {"sender": Counter(), "receiver": Counter()}
        self._causes: Counter[Cause] = Counter()
        self._faults: Counter[Violation] = Counter()
        self._histories = Histories(rules.histories_max)

    def run(self) -> CheckReport:
        self._read()
        for sent, received in in_ranges((self._sends, self._receives), KEY, self._third):
            self._account(sent, received)
            self._progress(0)
        ordering = Ordering(self._promised)
        for (block,) in in_ranges((self._firsts,), Ordering.KEYS, self._third):
            ordering.add(block)
            self._progress(0)
        order = ordering.result()
        for key in ordering.first_late:
            self._histories.add(key, [Violation.LATE])
        self._faults[Violation.LATE] += ordering.late_promised
        return self._report(order, ordering.late)

    def _read(self) -> None:
        place = 0
        for journal in self._journals:
            kind = journal.heading.kind
            for rows in journal.blocks(min(self._third, BLOCK_ROWS)):
                self._outcomes[kind].update(_tally(rows["outcome"]))
                if kind == "sender":
                    self._sends.add(_columns(rows, SENDS))
                else:
                    receives = _columns(rows, RECEIVES)
                    receives["place"] = np.arange(place, place + len(rows))
                    place += len(rows)
                    self._receives.add(receives)
                self._progress(len(rows))

    def _account(self, sends: Rows, receives: Rows) -> None:
        groups = grouped(sends, receives)
        is_plain = plain(sends, receives, groups)
        self._count("receives", len(receives))
        self._count("received", np.count_nonzero(groups.receives))
        settled = np.zeros(len(is_plain), np.bool_)
        settled[groups.of_receives[receives["outcome"] == RequestOutcome.ACKNOWLEDGED]] = True
        self._count("left", np.count_nonzero((groups.receives > 0) & ~settled))
        came = is_plain & (groups.receives > 0)
        self._count("messages", np.count_nonzero(came))
        refused = np.zeros(len(is_plain), np.bool_)
        refused[groups.of_sends[sends["outcome"] == RequestOutcome.REFUSED]] = True
        self._count("in_doubt", np.count_nonzero(is_plain & ~came & ~refused))
        strange = self._judge_others(sends, receives, groups, is_plain)
        self._firsts.add(self._ranks.first_receives(receives, groups.of_receives, strange))

    def _judge_others(
        self, sends: Rows, receives: Rows, groups: MessageGroups, is_plain: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Judges the messages that the sieve has left, and marks those that nobody sent."""
        strange = np.zeros(len(is_plain), np.bool_)
        attempts = _by_message(sends, groups.of_sends, ~is_plain, SendRecord)
        deliveries = _by_message(receives, groups.of_receives, ~is_plain, ReceiveRecord)
        for number in np.flatnonzero(~is_plain).tolist():
            judgement = self._judge(attempts.get(number, ()), deliveries.get(number, ()))
            strange[number] = Violation.STRANGE in judgement.faults
        return strange

    def _judge(
        self, attempts: Sequence[SendRecord], deliveries: Sequence[ReceiveRecord]
    ) -> MessageVerdict:
        row: SendRecord | ReceiveRecord = attempts[0] if attempts else deliveries[0]
        judgement = judge(
            attempts,
            deliveries,
            self._rules.slack,
            deduplicated=self._is_fifo(row.queue),
            named=self._rules.named,
        )
        self._causes.update(judgement.causes)
        self._faults.update(judgement.faults)
        self._count("messages", judgement.stored)
        refused = all(attempt.outcome == RequestOutcome.REFUSED for attempt in attempts)
        self._count("in_doubt", not judgement.stored and not refused)
        self._count("absent", judgement.stored and not deliveries)
        self._count("spoiled", judgement.stored and bool(deliveries) and not judgement.intact)
        if judgement.faults:
            key = MessageKey(row.queue, row.sender, row.send_seq)
            self._histories.add(key, judgement.faults)
        return judgement

    def _promised(self, queue: int) -> bool:
        return self._rules.in_order or self._is_fifo(queue)

    def _is_fifo(self, queue: int) -> bool:
        return self._queue_name(queue).endswith(limits.FIFO_SUFFIX)

    def _queue_name(self, queue: int) -> str:
        names = self._heading.queues
        return names[queue] if queue < len(names) else str(queue)

    @property
    def _heading(self) -> JournalHeader:
        return self._journals[0].heading

    def _count(self, name: str, count: Any) -> None:
        self._counts[name] += int(count)

    def _report(self, order: Consistency, late: int) -> CheckReport:
        counts = self._counts
        consistency = order + Consistency(
            messages=counts["messages"],
            duplicates=self._causes.total(),
            absent=counts["absent"],
            corrupted=counts["spoiled"],
        )
        return CheckReport(
            sends=RequestCounts(*(self._outcomes["sender"][each] for each in _OUTCOMES)),
            settles=RequestCounts(*(self._outcomes["receiver"][each] for each in _OUTCOMES)),
            messages=counts["messages"],
            in_doubt=counts["in_doubt"],
            receives=counts["receives"],
            received=counts["received"],
            left=counts["left"],
            late=late,
            duplicates={cause: self._causes[cause] for cause in Cause},
            faults={fault: self._faults[fault] for fault in Violation},
            allowed=tuple(fault for fault in Violation if fault in self._rules.allowed),
            rates=consistency.rates,
            culprits=self._histories.culprits(self._journals, self._queue_name),
        )


def _tally(column: NDArray[Any]) -> dict[int, int]:
    return dict(enumerate(np.bincount(column, minlength=len(RequestOutcome)).tolist()))


def _columns(rows: Rows, dtype: np.dtype[Any]) -> Rows:
    chosen = np.zeros(len(rows), dtype)
    for name in dtype.names or ():
        if name in (rows.dtype.names or ()):
            chosen[name] = rows[name]
    return chosen


def _by_message(
    rows: Rows, numbers: NDArray[np.intp], chosen: NDArray[np.bool_], row: Callable[..., Any]
) -> dict[int, list[Any]]:
    """Groups the rows of the chosen messages into records, by the number of the message."""
    mask = chosen[numbers]
    groups: dict[int, list[Any]] = {}
    for number, values in zip(numbers[mask].tolist(), rows[mask].tolist(), strict=True):
        groups.setdefault(number, []).append(row(*values))
    return groups
