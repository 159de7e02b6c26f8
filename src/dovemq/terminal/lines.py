"""The lines of the pages, as plain texts: for the screens, and for a snapshot off a terminal."""

import datetime
from typing import Final

from dovemq.core.history import HistoryPoint
from dovemq.terminal.pictures import Alert, OverviewPicture, QueuePicture
from dovemq.terminal.texts import age_text, count_text, curve, plain, rate_text

ALERTS_SHOWN_MAX: Final = 3
_CONNECTION_HEADS: Final = ("ROLE", "PEER", "REQUESTS", "LAST", "PROGRAM")
_NUMBERS: Final = ("REQUESTS", "LAST")
"""Heads of columns that end at the right."""
_NAME_MAX: Final = 40
_PEER_MAX: Final = 47
"""The length of an IPv6 address with its port."""
_CURVES: Final = (
    ("visible", "visible", lambda value: count_text(value)),
    ("leased", "leased", lambda value: count_text(value)),
    ("oldest", "oldest_age_ms", lambda value: age_text(int(value))),
    ("sent/s", "sent", rate_text),
    ("received/s", "received", rate_text),
    ("deleted/s", "settled", rate_text),
)
"""Label, field of `HistoryPoint` and text of the value of each curve."""
_LABEL_WIDTH: Final = 11
_VALUE_WIDTH: Final = 8


def clock_text(at_ms: int) -> str:
    """The time of day of a picture, in UTC."""
    return f"{datetime.datetime.fromtimestamp(at_ms // 1_000, datetime.UTC):%H:%M:%SZ}"


def health_text(picture: OverviewPicture) -> str:
    health = picture.health
    if health is None:
        return "own queues only"
    if not health.ready:
        return plain(health.reason or "not ready", _NAME_MAX)
    return f"store was damaged {health.damage} times" if health.damage else "healthy"


def overview_lines(picture: OverviewPicture) -> list[str]:
    """The totals, the rates, the front ends and the first alerts."""
    total = picture.total
    counts = (
        f"{count_text(picture.queues)} queues  {count_text(total.visible)} visible  "
        f"{count_text(total.leased)} leased  {count_text(total.delayed)} delayed  "
        f"oldest {age_text(total.oldest_age_ms if total.visible else None)}"
    )
    rates = (
        f"per second: {rate_text(total.sent)} sent  {rate_text(total.received)} received  "
        f"{rate_text(total.settled)} deleted"
    )
    lines = [counts, rates]
    if (ends := picture.front_ends) is not None:
        asked = f"asked front end {ends.asked}" if ends.asked else "the one asked has no lease"
        dead = f", {ends.dead} dead" if ends.dead else ""
        lines.append(
            f"{ends.serving} front ends serve{dead}; {ends.partitions} partitions; {asked}"
        )
    lines.append(alerts_line(picture.alerts, picture.alert_count))
    return lines


def alerts_line(alerts: tuple[Alert, ...], count: int) -> str:
    if not count:
        return "no alerts"
    shown = [f"{each.name} {each.kind}".strip() for each in alerts[:ALERTS_SHOWN_MAX]]
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    noun = "alert" if count == 1 else "alerts"
    return f"{count} {noun}: {', '.join(shown)}{more}"


def queue_lines(picture: QueuePicture) -> list[str]:
    """The counts, states and alerts of a queue."""
    line = picture.line
    if line is None:
        return ["The server has no figures of this queue yet."]
    states = [text for text, holds in (("FIFO", line.fifo), ("paused", line.paused)) if holds]
    counts = (
        f"{count_text(line.visible)} visible  {count_text(line.leased)} leased  "
        f"{count_text(line.delayed)} delayed  {count_text(line.bytes)} bytes  "
        f"oldest {age_text(line.oldest_age_ms)}"
    )
    rates = line.rates
    flows = (
        f"per second: {rate_text(rates.sent)} sent  {rate_text(rates.received)} received  "
        f"{rate_text(rates.settled)} deleted  {rate_text(rates.redriven)} redriven  "
        f"{rate_text(rates.misses)} empty"
    )
    clients = (
        f"{line.consumers} consumers  {picture.waiting} waiting receives  "
        f"{picture.connection_count} connections here  {' '.join(states)}"
    )
    alerts = [f"alert {each.kind}: {each.text}" for each in line.alerts] or ["no alerts"]
    return [counts, flows, clients.rstrip(), *alerts]


def curve_lines(points: tuple[HistoryPoint, ...], width: int) -> list[str]:
    """One line for each curve: its label, its last value and its bars."""
    bars = width - _LABEL_WIDTH - _VALUE_WIDTH - 1
    lines = []
    for label, name, text in _CURVES:
        values = [float(getattr(point, name)) for point in points]
        last = text(values[-1]) if values else ""
        lines.append(f"{label.ljust(_LABEL_WIDTH)}{last.rjust(_VALUE_WIDTH)} {curve(values, bars)}")
    return lines


def connection_lines(picture: QueuePicture) -> list[str]:
    """Heads, and a line for each connection. `LAST` is the time since its last request."""
    rows = [_CONNECTION_HEADS, *_connections(picture)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if head in _NUMBERS else cell.ljust(width)
            for cell, width, head in zip(row, widths, _CONNECTION_HEADS, strict=True)
        ).rstrip()
        for row in rows
    ]


def _connections(picture: QueuePicture) -> list[tuple[str, ...]]:
    return [
        (
            each.role,
            plain(each.peer, _PEER_MAX),
            count_text(each.requests),
            age_text(max(picture.at_ms - each.last_ms, 0)),
            plain(each.agent, _NAME_MAX),
        )
        for each in picture.connections
    ]
