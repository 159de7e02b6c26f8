"""joram-fig4 to joram-fig7 on the real service: one partition by its clients and its length."""

import asyncio
import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Effort, Figure, Panel, Verdict
from dovemq.experiments.intervals import interval_columns, interval_curve, ratio
from dovemq.experiments.joram_clients import Course, PinnedClients
from dovemq.experiments.joram_service import (
    CPU_SHARE,
    READINGS,
    ArrangedRuns,
    Arrangement,
    course_columns,
    course_panels,
    rates_text,
    run_arrangements,
    run_length,
)
from dovemq.experiments.limited_service import limited_service
from dovemq.fabric.autonomic import ClientRole
from dovemq.models.estimates import Estimate, Interval

MESSAGES: Final = 1_500
MESSAGES_QUICK: Final = 150
FILL_SECONDS_MAX: Final = 120.0
LOOK_S: Final = 0.2
"""The time between two samples of fig. 4, which take only seconds in all."""
PRODUCERS: Final = 4
"""Producers, and then consumers, of fig. 4; the paper does not say how many."""
PARTS: Final = 3
PRODUCER_COUNTS: Final = (1, 2, 3, 4, 6)
PRODUCER_COUNTS_QUICK: Final = (1, 4)
RATIOS: Final = (1, 2, 3)
"""Consumers for each producer."""
COMPARED: Final = 2
"""The number of producers with which the ratios are compared."""
SLOWER: Final = 0.9
NOTICEABLY: Final = 1.2
EQUAL: Final = (0.95, 1.05)
TWICE: Final = (1.5, 2.5)
NO_MORE: Final = 1.05
NEARLY: Final = 0.95


def waiting_messages(effort: Effort) -> Figure:
    """Fig. 4: the queue is filled, then emptied."""
    with limited_service(1, 1, CPU_SHARE) as service:
        courses = asyncio.run(_filled_and_emptied(service.front_ends.urls, effort))
        limit = service.reading
    found = {name: ArrangedRuns(tuple(own), 0.0) for name, own in courses.items()}
    return Figure(
        "One partition is filled and emptied (joram, fig. 4)",
        course_columns(found),
        tuple(panel for name, runs in found.items() for panel in course_panels(name, runs)),
        tuple(waiting_claims(courses)),
        (
            limit,
            f"{PRODUCERS} producers send {MESSAGES} messages, then {PRODUCERS} consumers read "
            "them; the paper does not say how many clients there are. Rates are compared between "
            "thirds of the messages.",
            *READINGS[1:],
        ),
    )


async def _filled_and_emptied(urls: list[str], effort: Effort) -> dict[str, list[Course]]:
    count = MESSAGES_QUICK if effort.quick else MESSAGES
    runs = run_length(effort).runs
    courses: dict[str, list[Course]] = {"filling": [], "emptying": []}
    async with PinnedClients(urls) as clients:
        await clients.create_queue()
        for number in range(runs):
            effort.tell(f"run {number + 1}/{runs}")
            await clients.purge()
            clients.begin()
            for _ in range(PRODUCERS):
                clients.join(ClientRole.PRODUCER, 0)
            await clients.watch(FILL_SECONDS_MAX, every_s=LOOK_S, produced=count)
            courses["filling"].append(tuple(clients.samples))
            await clients.stop()
            filled = clients.produced
            clients.begin(filled)
            for _ in range(PRODUCERS):
                clients.join(ClientRole.CONSUMER, 0)
            await clients.watch(FILL_SECONDS_MAX, every_s=LOOK_S, consumed=filled)
            courses["emptying"].append(tuple(clients.samples))
            await clients.stop()
    return courses


def waiting_claims(courses: Mapping[str, list[Course]]) -> Iterator[Verdict]:
    filling = [_thirds(course, "produced") for course in courses["filling"]]
    emptying = [_thirds(course, "consumed") for course in courses["emptying"]]
    yield judge(
        "messages are sent more slowly the more of them wait",
        "rate of the last third / of the first, filling",
        [_quotient([(each[-1], each[0]) for each in filling])],
        most=SLOWER,
    )
    yield judge(
        "messages are received more slowly the more of them wait",
        "rate of the first third / of the last, emptying",
        [_quotient([(each[0], each[-1]) for each in emptying])],
        most=SLOWER,
    )
    yield judge(
        "sending is noticeably faster than receiving",
        "rate of filling / rate of emptying",
        [_quotient([(sum(a), sum(b)) for a, b in zip(filling, emptying, strict=True)])],
        least=NOTICEABLY,
    )


def _thirds(course: Course, counted: str) -> list[float]:
    """The rates in thirds of the messages, by interpolation between the samples."""
    total = max(getattr(each, counted) for each in course)
    ends = [_reached_s(course, counted, total * part / PARTS) for part in range(PARTS + 1)]
    share = total / PARTS
    return [share / max(after - before, 1e-9) for before, after in itertools.pairwise(ends)]


def _reached_s(course: Course, counted: str, count: float) -> float:
    """When so many messages were counted."""
    for before, after in itertools.pairwise(course):
        low, high = getattr(before, counted), getattr(after, counted)
        if high >= count and high > low:
            passed: float = max(0.0, (count - low) / (high - low))
            return before.time_s + passed * (after.time_s - before.time_s)
    return course[-1].time_s


def _quotient(pairs: list[tuple[float, float]]) -> Interval:
    return Estimate(tuple(one / max(other, 1e-9) for one, other in pairs)).interval


def one_consumer(effort: Effort) -> Figure:
    """Fig. 5: a producer and a consumer."""
    name = "1 producer, 1 consumer"
    found, limit = _single({name: Arrangement((1,), (1,))}, effort)
    title = "One producer and one consumer (joram, fig. 5)"
    return _figure(title, found, one_consumer_claims(found[name]), limit)


def one_consumer_claims(runs: ArrangedRuns) -> tuple[Verdict, ...]:
    return (
        judge(
            "about twice as much is produced as consumed",
            "produced / consumed",
            [runs.produced_per_consumed],
            *TWICE,
        ),
        judge("the queue grows", "waiting messages at the end", [runs.waiting], least=1.0),
    )


def two_consumers(effort: Effort) -> Figure:
    """Fig. 6: a producer and two consumers; and three, which the text mentions."""
    found, limit = _single(
        {f"1 producer, {count} consumers": Arrangement((1,), (count,)) for count in (2, 3)},
        effort,
    )
    title = "One producer and two or three consumers (joram, fig. 6)"
    return _figure(title, found, two_consumer_claims(*found.values()), limit)


def two_consumer_claims(two: ArrangedRuns, three: ArrangedRuns) -> tuple[Verdict, ...]:
    return (
        judge(
            "with two consumers as much is consumed as produced",
            "produced / consumed",
            [two.produced_per_consumed],
            *EQUAL,
        ),
        judge(
            "three consumers make no difference",
            "consumed by three / by two",
            [three.consumed_over(two)],
            *EQUAL,
        ),
    )


def capacity(effort: Effort) -> Figure:
    """Fig. 7: the throughput of one partition by its clients."""
    counts = PRODUCER_COUNTS_QUICK if effort.quick else PRODUCER_COUNTS
    arrangements = {f"{n} and {2 * n}": Arrangement((n,), (2 * n,)) for n in counts}
    others = {
        f"{COMPARED} and {COMPARED * each}": Arrangement((COMPARED,), (COMPARED * each,))
        for each in RATIOS
    }
    found, limit = _single({**arrangements, **others}, effort)
    by_count = {float(n): found[f"{n} and {2 * n}"].consumed for n in counts}
    return Figure(
        "Throughput of one partition by its clients (joram, fig. 7)",
        {
            "clients": list(found),
            **interval_columns("produced_per_s", [each.produced for each in found.values()]),
            **interval_columns("consumed_per_s", [each.consumed for each in found.values()]),
        },
        (
            Panel(
                "twice as many consumers as producers",
                "producers",
                "messages consumed/s",
                (interval_curve("one partition", by_count),),
            ),
        ),
        tuple(capacity_claims(by_count, found)),
        (limit, *READINGS, *rates_text(found)),
    )


def capacity_claims(
    by_count: Mapping[float, Interval], found: Mapping[str, ArrangedRuns]
) -> Iterator[Verdict]:
    *_, before, last = by_count.values()
    first = next(iter(by_count.values()))
    yield judge(
        "more clients raise the throughput, less than in proportion",
        "throughput with the most clients / with one producer, / their number",
        [_divided(ratio(last, first), max(by_count))],
        most=SLOWER,
    )
    yield judge(
        "a ceiling is reached",
        "throughput with the most clients / with the next fewer",
        [ratio(last, before)],
        most=NO_MORE,
    )
    best = max((found[f"{COMPARED} and {COMPARED * n}"].consumed for n in RATIOS), key=_mean)
    yield judge(
        "one producer for two consumers is the best ratio",
        f"consumed by {2 * COMPARED} consumers of {COMPARED} producers / by the best of "
        + ", ".join(str(COMPARED * each) for each in RATIOS),
        [ratio(found[f"{COMPARED} and {2 * COMPARED}"].consumed, best)],
        least=NEARLY,
    )


def _mean(each: Interval) -> float:
    return each.mean


def _divided(value: Interval, by: float) -> Interval:
    return Interval(value.mean / by, value.low / by, value.high / by)


def _single(
    arrangements: Mapping[str, Arrangement], effort: Effort
) -> tuple[dict[str, ArrangedRuns], str]:
    with limited_service(1, 1, CPU_SHARE) as service:
        return run_arrangements(service, arrangements, effort), service.reading


def _figure(
    title: str, found: Mapping[str, ArrangedRuns], verdicts: tuple[Verdict, ...], limit: str
) -> Figure:
    return Figure(
        title,
        course_columns(found),
        tuple(panel for name, runs in found.items() for panel in course_panels(name, runs)),
        verdicts,
        (limit, *READINGS, *rates_text(found)),
    )
