"""The columns of the table of queues, and which of them fit a terminal."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from dovemq.terminal.pictures import QueueLine
from dovemq.terminal.texts import age_text, count_text, plain, rate_text

NAME_WIDTH_MIN: Final = 16
NAME_WIDTH_MAX: Final = 80
GAP: Final = 1
"""Spaces before each column but the first."""


class QueueColumn(Struct, frozen=True):
    """`sort` is the name of the order at the admin API. Smaller ranks stay on narrow terminals."""

    head: str
    sort: str
    width: int
    rank: int
    cell: Callable[[QueueLine], str]


_MARK: Final = "!"
_COLUMNS: Final = (
    QueueColumn("VISIBLE", "visible", 8, 1, lambda line: count_text(line.visible)),
    QueueColumn("LEASED", "leased", 7, 4, lambda line: count_text(line.leased)),
    QueueColumn("DELAYED", "delayed", 8, 7, lambda line: count_text(line.delayed)),
    QueueColumn("OLDEST", "age", 7, 2, lambda line: age_text(line.oldest_age_ms)),
    QueueColumn("SENT/S", "sent", 7, 5, lambda line: rate_text(line.rates.sent)),
    QueueColumn("RECV/S", "received", 7, 6, lambda line: rate_text(line.rates.received)),
    QueueColumn("DEL/S", "settled", 6, 8, lambda line: rate_text(line.rates.settled)),
    QueueColumn("CONSUMERS", "consumers", 9, 3, lambda line: count_text(line.consumers)),
)
_ALERTS: Final = QueueColumn("ALERT", "alerts", 14, 9, lambda line: _kinds(line))


def name_column(width: int, *, several: bool) -> QueueColumn:
    """The queue, with a mark if it has alerts, and with its account if there are `several`."""

    def cell(line: QueueLine) -> str:
        mark = _MARK if line.alerts else " "
        return f"{mark}{plain(line.key if several else line.name, width - 1)}"

    return QueueColumn(" QUEUE", "name", width, 0, cell)


def fitting_columns(width: int, lines: Sequence[QueueLine]) -> list[QueueColumn]:
    """The columns for a table of a width, in the order in which they are shown."""
    several = len({line.account for line in lines}) > 1
    left = width - NAME_WIDTH_MIN
    chosen: list[QueueColumn] = []
    for column in sorted((*_COLUMNS, _ALERTS), key=lambda each: each.rank):
        if column.width + GAP > left:
            break
        left -= column.width + GAP
        chosen.append(column)
    longest = max((len(line.key if several else line.name) for line in lines), default=0)
    wanted = min(max(longest + len(_MARK), NAME_WIDTH_MIN), NAME_WIDTH_MAX)
    name = name_column(min(NAME_WIDTH_MIN + left, wanted), several=several)
    return [name, *(each for each in (*_COLUMNS, _ALERTS) if each in chosen)]


def is_text(column: QueueColumn) -> bool:
    """Whether the cells are texts, which begin at the left; numbers end at the right."""
    return column.sort in ("name", "alerts")


def is_first(column: QueueColumn) -> bool:
    return column.sort == "name"


def _kinds(line: QueueLine) -> str:
    if not line.alerts:
        return ""
    more = f"+{len(line.alerts) - 1}" if len(line.alerts) > 1 else ""
    return f"{line.alerts[0].kind}{more}"
