"""joram-fig8 and joram-fig9 on the real service: two partitions by the distribution of clients."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Curve, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.intervals import interval_columns, interval_curve
from dovemq.experiments.joram_balance import BALANCED, DISTRIBUTIONS, UNBALANCED
from dovemq.experiments.joram_service import (
    CPU_SHARE,
    READINGS,
    ArrangedRuns,
    Arrangement,
    course_columns,
    course_panels,
    rates_text,
    run_arrangements,
)
from dovemq.experiments.limited_service import limited_service

FRONT_ENDS: Final = 2
PAPER_GAIN: Final = 0.35 / 0.3
EQUAL: Final = (0.95, 1.05)
PAPER_DOUBLE: Final = 0.35 / 0.19
"""Two queues of fig. 9 and one of fig. 10, whose numbers are read as a tenth."""
_EXCHANGE: Final = (
    "The partitions of this queue do not exchange messages while they are active. A front end "
    "whose own partition is empty asks the other one. One receive in eight begins there, and ever "
    "fewer, down to one in 64, while that finds no backlog."
)
_PAPER_SPREAD: Final = (
    "The paper does not say how JORAM distributes clients by itself. Its own examples of "
    "distributions are used, with 4 producers and 8 consumers, until the end of the run."
)


def unbalanced(effort: Effort) -> Figure:
    """Fig. 8: what bad distributions cost."""
    found, limit = _two_partitions(effort)
    names = tuple(found)
    return Figure(
        "Two partitions by the distribution of clients (joram, fig. 8)",
        {
            "clients": list(names),
            **interval_columns("produced_per_s", [each.produced for each in found.values()]),
            **interval_columns("consumed_per_s", [each.consumed for each in found.values()]),
            **interval_columns("waiting_at_end", [each.waiting for each in found.values()]),
        },
        (
            Panel(
                "producers, then consumers, of both partitions",
                "distribution",
                "messages/s",
                tuple(_points(kind, found) for kind in ("produced", "consumed")),
                (),
                names,
            ),
        ),
        tuple(unbalanced_claims(found)),
        (limit, _PAPER_SPREAD, _EXCHANGE, *READINGS, *rates_text(found)),
    )


def unbalanced_claims(found: Mapping[str, ArrangedRuns]) -> Iterator[Verdict]:
    for name in UNBALANCED:
        if not name.startswith("uneven"):
            yield judge(
                f"more is produced than consumed ({name})",
                "produced / consumed",
                [found[name].produced_per_consumed],
                least=EQUAL[1],
            )
    for name in UNBALANCED:
        yield judge(
            f"it consumes less than a balanced distribution, 0.3 instead of 0.35 ({name})",
            "consumed, balanced / unbalanced",
            [found[BALANCED].consumed_over(found[name])],
            least=PAPER_GAIN,
        )


def _points(kind: str, found: Mapping[str, ArrangedRuns]) -> Curve:
    """A point with its interval for each distribution; `kind` is produced or consumed."""
    values = {float(place): getattr(runs, kind) for place, runs in enumerate(found.values(), 1)}
    return replace(interval_curve(kind, values), points=True)


def balanced(effort: Effort) -> Figure:
    """Fig. 9: balanced clients, and what two partitions are worth."""
    runs, limit = _two_partitions(effort)
    found = {BALANCED: runs[BALANCED]}
    with limited_service(1, 1, CPU_SHARE) as service:
        name = "one partition: 4, 8"
        found |= run_arrangements(service, {name: Arrangement((4,), (8,))}, effort)
    two, one = found.values()
    rates, waiting = course_panels(BALANCED, two)
    level = PaperMark("one partition with the same clients", y=one.consumed.mean)
    return Figure(
        "Two partitions with balanced clients (joram, fig. 9)",
        course_columns(found),
        (Panel(rates.title, rates.x_label, rates.y_label, rates.curves, (level,)), waiting),
        balanced_claims(two, one),
        (limit, _EXCHANGE, *READINGS, *rates_text(found)),
    )


def balanced_claims(two: ArrangedRuns, one: ArrangedRuns) -> tuple[Verdict, ...]:
    """`two` partitions and `one` have the same clients."""
    return (
        judge(
            "as much is consumed as produced",
            "produced / consumed",
            [two.produced_per_consumed],
            *EQUAL,
        ),
        judge(
            "two balanced partitions pass on 0.35 / 0.19 as much as one",
            "consumed by two partitions / by one, with the same clients",
            [two.consumed_over(one)],
            least=PAPER_DOUBLE,
        ),
    )


def _two_partitions(effort: Effort) -> tuple[dict[str, ArrangedRuns], str]:
    """The runs of all distributions, which both figures share."""
    arrangements = {name: Arrangement(*counts) for name, counts in DISTRIBUTIONS.items()}

    def run() -> tuple[dict[str, ArrangedRuns], str]:
        with limited_service(FRONT_ENDS, FRONT_ENDS, CPU_SHARE) as service:
            return run_arrangements(service, arrangements, effort), service.reading

    return effort.once("joram, two partitions", run)
