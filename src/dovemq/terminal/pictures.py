"""The pictures that the pages of the terminal show, read from documents of the admin API."""

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from dovemq.client.errors import AnswerMalformed
from dovemq.core.history import HistoryPoint

Document = dict[str, Any]
T = TypeVar("T")


class Alert(Struct, frozen=True):
    kind: str
    text: str
    name: str = ""
    """The queue, where alerts of several queues are listed."""


class LineRates(Struct, frozen=True):
    """Messages per second; `misses` are receives that found nothing."""

    sent: float = 0.0
    received: float = 0.0
    settled: float = 0.0
    redriven: float = 0.0
    misses: float = 0.0


class QueueLine(Struct, frozen=True):
    account: str
    name: str
    visible: int
    leased: int
    delayed: int
    oldest_age_ms: int | None
    consumers: int
    rates: LineRates
    alerts: tuple[Alert, ...]
    bytes: int = 0
    fifo: bool = False
    paused: bool = False

    @property
    def key(self) -> str:
        return f"{self.account}/{self.name}"


class Health(Struct, frozen=True):
    ready: bool
    reason: str | None
    damage: int = 0


class FrontEnds(Struct, frozen=True):
    """The servers that share the store."""

    serving: int
    dead: int
    partitions: int
    asked: int | None
    """The one that has answered; None if it holds no lease."""


class OverviewPicture(Struct, frozen=True):
    """`lines` are the first of the `matching` queues. `health` is None for an ordinary account."""

    at_ms: int
    queues: int
    total: HistoryPoint
    history: tuple[HistoryPoint, ...]
    alerts: tuple[Alert, ...]
    alert_count: int
    health: Health | None
    lines: tuple[QueueLine, ...]
    matching: int
    front_ends: FrontEnds | None


class Connection(Struct, frozen=True):
    """A connection that sends to the queue or receives from it."""

    peer: str
    account: str
    role: str
    agent: str
    last_ms: int
    requests: int


class QueuePicture(Struct, frozen=True):
    """`line` is None for a queue that the snapshot of the server does not have yet."""

    at_ms: int
    key: str
    line: QueueLine | None
    history: tuple[HistoryPoint, ...]
    connections: tuple[Connection, ...]
    connection_count: int
    waiting: int


def overview_picture(found: Document) -> OverviewPicture:
    """The picture of the documents `overview`, `queues` and `cluster` (None without one)."""
    overview, rows, cluster = found["overview"], found["queues"], found["cluster"]
    return OverviewPicture(
        overview["at_ms"],
        overview["queues"],
        _read(overview["total"], HistoryPoint),
        _read(overview["history"], tuple[HistoryPoint, ...]),
        _read(overview["alerts"], tuple[Alert, ...]),
        overview["alert_count"],
        _read(overview["health"], Health | None),
        _read(rows["queues"], tuple[QueueLine, ...]),
        rows["matching"],
        None if cluster is None else _front_ends(cluster),
    )


def queue_picture(found: Document) -> QueuePicture:
    """The picture of the documents `history` and `clients` of the queue `key`."""
    history, clients = found["history"], found["clients"]
    return QueuePicture(
        history["at_ms"],
        found["key"],
        _read(history["now"], QueueLine | None),
        _read(history["points"], tuple[HistoryPoint, ...]),
        _read(clients["clients"], tuple[Connection, ...]),
        clients["count"],
        clients["waiting"],
    )


def _front_ends(cluster: Document) -> FrontEnds:
    states = [each["state"] for each in cluster["front_ends"]]
    serving, dead = states.count("serving"), states.count("dead")
    return FrontEnds(serving, dead, len(cluster["partitions"]), cluster["front_end"])


def _read(found: Any, kind: type[T] | Any) -> T:
    try:
        read: T = msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise AnswerMalformed("admin API", f"unreadable answer: {error}") from None
    return read
