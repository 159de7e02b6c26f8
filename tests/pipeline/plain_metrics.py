"""The figures directly from their definitions, with lists and loops and without the product."""

import itertools
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.pipeline.traces import Row

Figures = dict[str, Any]
_GONE = ("settled", "expired", "redriven")
_KINDS = {"sent": "send", "leased": "receive", "missed": "miss", "settled": "settle"}
_REQUESTS = {"sent": "sends", "leased": "hits", "missed": "misses", "settled": "settles"}
_ROWS = {"sent": "sent", "leased": "receives", "missed": "missed", "settled": "settled"}


def by_queue(rows: Sequence[Row], window_us: int) -> dict[str, Figures]:
    return {queue: _figures([queue], rows, window_us, None) for queue in _queues(rows)}


def overall(rows: Sequence[Row], window_us: int) -> Figures:
    return _figures(_queues(rows), rows, window_us, None)


def by_window(rows: Sequence[Row], window_us: int) -> dict[tuple[str, int], Figures]:
    found = {}
    for queue in _queues(rows):
        mine = [row for row in rows if row["queue"] == queue]
        for window in sorted({_moment(row) // window_us for row in mine}):
            found[queue, window * window_us] = _figures([queue], mine, window_us, window)
    return found


def _queues(rows: Sequence[Row]) -> list[str]:
    return sorted({row["queue"] for row in rows})


def _moment(row: Row) -> int:
    name = {"sent": "at_us", "leased": "it_us"}.get(row["event"], "ts_us")
    at_us: int = row[name]
    return at_us


def _figures(
    queues: Sequence[str], rows: Sequence[Row], window_us: int, window: int | None
) -> Figures:
    rows = [row for row in rows if row["queue"] in queues]

    def inside(at_us: int) -> bool:
        return window is None or at_us // window_us == window

    here = [row for row in rows if inside(_moment(row))]
    found: Figures = {"expired": 0, "redriven": 0} | dict.fromkeys(_ROWS.values(), 0)
    for row in here:
        event: str = row["event"]
        name = _ROWS.get(event, event)
        found[name] = found.get(name, 0) + 1
    found["unnamed"] = sum(
        row.get("message_id") is None and row["event"] != "missed" for row in here
    )
    found |= _request_figures(here, window_us)
    found |= _message_figures(rows, inside)
    found["duplicates"] = found["receives"] - found["received"]
    found["duplication_rate"] = _ratio(found["duplicates"], found["messages"])
    found |= _order_figures(rows, window_us, window)
    found |= _number_figures(queues, rows, window_us, window)
    for name, count in (("sent", "sent"), ("received", "receives"), ("settled", "settled")):
        found[f"{name}_rate"] = _ratio(found[count], found["seconds"])
    arrived = found["sent"] * found["sojourn_mean_us"] if found["sojourn_mean_us"] else 0
    found["little_ratio"] = _ratio(found.pop("area_us"), arrived)
    return found


def _ratio(count: float, of: float) -> float | None:
    return count / of if of else None


def _request_figures(rows: Sequence[Row], window_us: int) -> Figures:
    requests: dict[tuple[Any, ...], list[int | None]] = defaultdict(list)
    for row in rows:
        if row["event"] in _KINDS:
            answered = row["ot_us"] if row["ot_us"] is not None else _moment(row)
            # A request with rows in two windows counts in both.
            names = (row["event"], row["queue"], row["front_end"], row["client"])
            key = (*names, answered, _moment(row) // window_us)
            requests[key].append(row["latency_us"])
    found: Figures = {}
    for event, kind in _KINDS.items():
        answers = [latencies for key, latencies in requests.items() if key[0] == event]
        known = [[each for each in latencies if each is not None] for latencies in answers]
        found[_REQUESTS[event]] = len(answers)
        found |= _times(kind, [max(latencies) for latencies in known if latencies])
    asked = found["hits"] + found["misses"]
    leased = sum(row["event"] == "leased" for row in rows)
    found["hit_rate"] = _ratio(found["hits"], asked)
    found["miss_rate"] = _ratio(found["misses"], asked)
    found["messages_per_hit"] = _ratio(leased, found["hits"])
    return found


def _times(name: str, times: Sequence[int]) -> Figures:
    found: Figures = {f"{name}_mean_us": _ratio(sum(times), len(times))}
    ordered = sorted(map(_four_digits, times))
    for percent in (50, 95, 99):
        place = -(-percent * len(ordered) // 100) - 1
        found[f"{name}_p{percent}_us"] = ordered[place] if ordered else None
    return found


def _four_digits(time: int) -> int:
    sign, digits = ("-", str(-time)) if time < 0 else ("", str(time))
    return int(sign + digits[:4] + "0" * len(digits[4:]))


def _by_message(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    found = defaultdict(list)
    for row in rows:
        if row.get("message_id") is not None and row["event"] not in ("missed", "exchanged"):
            found[row["queue"], row["message_id"]].append(row)
    return found


def _lease_key(row: Row) -> tuple[int, str, int]:
    return row["it_us"], row["front_end"], row["receive_seq"]


def _message_figures(rows: Iterable[Row], inside: Callable[[int], bool]) -> Figures:
    found = dict.fromkeys(("messages", "absent", "corrupted", "unsent", "received"), 0)
    waiting, sojourn = [], []
    for events in _by_message(rows).values():
        sent = [row for row in events if row["event"] == "sent"]
        leases = sorted((row for row in events if row["event"] == "leased"), key=_lease_key)
        left = sorted(row["ts_us"] for row in events if row["event"] in _GONE)
        if leases and inside(leases[0]["it_us"]):
            found["received"] += 1
        if not sent:
            found["unsent"] += inside(leases[0]["it_us"] if leases else left[0])
        elif inside(sent[0]["at_us"]):
            found["messages"] += 1
            found["absent"] += not leases
            sums = [row["body_crc32"] for row in leases]
            found["corrupted"] += bool(leases) and sent[0]["body_crc32"] not in sums
            waiting += [leases[0]["it_us"] - sent[0]["at_us"]] if leases else []
            sojourn += [left[0] - sent[0]["at_us"]] if left else []
    lost = found["absent"] + found["corrupted"]
    return {
        **found,
        "lost": lost,
        "loss_rate": _ratio(lost, found["messages"]),
        **_times("waiting", waiting),
        **_times("sojourn", sojourn),
    }


def _order_figures(rows: Iterable[Row], window_us: int, window: int | None) -> Figures:
    streams: dict[tuple[str, str], list[tuple[Row, int | None]]] = defaultdict(list)
    for events in _by_message(rows).values():
        leases = sorted((row for row in events if row["event"] == "leased"), key=_lease_key)
        if leases:
            sent = [row["at_us"] for row in events if row["event"] == "sent"]
            first = leases[0]
            streams[first["queue"], first["sender"]].append((first, sent[0] if sent else None))
    prefix = "" if window is None else "window_"
    names = ("ordered", "out_of_order", "displacement")
    totals = dict.fromkeys(names, 0)
    renumbered = 0
    for firsts in streams.values():
        firsts.sort(key=lambda each: _lease_key(each[0]))
        numbers = [row["send_seq"] for row, _ in firsts]
        if len(set(numbers)) < len(numbers):
            renumbered += 1
            firsts = [each for each in firsts if each[1] is not None]
            numbers = [at_us for _, at_us in firsts if at_us is not None]
        if window is not None:
            places = [row["it_us"] // window_us == window for row, _ in firsts]
            numbers = [number for number, is_here in zip(numbers, places, strict=True) if is_here]
        totals["ordered"] += len(numbers)
        totals["out_of_order"] += len(numbers) - longest_in_order(numbers)
        totals["displacement"] += displacement(numbers)
    found: Figures = {prefix + name: total for name, total in totals.items()}
    found[prefix + "out_of_order_rate"] = _ratio(totals["out_of_order"], totals["ordered"])
    found[prefix + "average_displacement"] = _ratio(totals["displacement"], totals["ordered"])
    if window is None:
        found |= {"streams": len(streams), "renumbered": renumbered}
    return found


def longest_in_order(numbers: Sequence[int]) -> int:
    """Equal numbers are in order; quadratic."""
    lengths: list[int] = []
    for place, number in enumerate(numbers):
        before = (
            length
            for other, length in zip(numbers[:place], lengths, strict=True)
            if other <= number
        )
        lengths.append(1 + max(before, default=0))
    return max(lengths, default=0)


def displacement(numbers: Sequence[int]) -> int:
    order = sorted(range(len(numbers)), key=lambda place: numbers[place])
    return sum(abs(place - rank) for rank, place in enumerate(order))


def _number_figures(
    queues: Sequence[str], rows: Sequence[Row], window_us: int, window: int | None
) -> Figures:
    first_us, last_us = min(map(_moment, rows)), max(map(_moment, rows))
    start_us, end_us, within_us = first_us, last_us, last_us
    if window is not None:
        start_us = max(first_us, window * window_us)
        end_us = min(last_us, (window + 1) * window_us)
        # An event at the end of a window belongs to the next one.
        within_us = min(last_us, (window + 1) * window_us - 1)
    area_us, number_last = 0, 0
    for queue in queues:
        mine = [row for row in rows if row["queue"] == queue]
        steps = sorted(
            (_moment(row), 1 if row["event"] == "sent" else -1)
            for row in mine
            if row["event"] == "sent" or row["event"] in _GONE
        )
        before = _before(mine, steps, window_us)
        for at_us, until_us in _between(steps, start_us, end_us):
            area_us += (before + _balance(steps, at_us)) * (until_us - at_us)
        number_last += before + _balance(steps, within_us)
    seconds = (end_us - start_us) / 1e6
    return {
        "first_us": start_us,
        "last_us": end_us,
        "seconds": seconds,
        "area_us": area_us,
        "number_mean": _ratio(area_us, end_us - start_us),
        "number_last": number_last,
    }


def _before(rows: Sequence[Row], steps: Sequence[tuple[int, int]], window_us: int) -> int:
    unsent = [
        events
        for events in _by_message(rows).values()
        if not any(row["event"] == "sent" for row in events)
    ]
    ends = {(_moment(row) // window_us + 1) * window_us - 1 for row in rows}
    least = min(_balance(steps, end_us) for end_us in ends)
    return max(len(unsent), -least)


def _balance(steps: Sequence[tuple[int, int]], until_us: int) -> int:
    """Sums all steps up to and including this microsecond."""
    return sum(step for _, step in steps[: bisect_left(steps, (until_us + 1, -1))])


def _between(
    steps: Sequence[tuple[int, int]], start_us: int, end_us: int
) -> Iterable[tuple[int, int]]:
    inside = sorted({at_us for at_us, _ in steps if start_us < at_us < end_us})
    edges = [start_us, *inside, end_us]
    return itertools.pairwise(edges)
