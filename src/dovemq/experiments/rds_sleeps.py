"""rds-fig12: throughput of rds by its sleep, for several rates of sends and of requests."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Effort, Figure, Panel, Verdict
from dovemq.experiments.intervals import interval_curve, ratio
from dovemq.experiments.rds_sweeps import MEASURES, RdsSweep, rds_sweep
from dovemq.models.simulation import RdsParameters

SLEEPS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
REQUEST_RATES: Final = (50.0, 200.0)
ENQUEUE_RATES: Final = (500.0, 1_000.0, 2_000.0, 4_000.0)
BEST: Final = 5.0
"""The best sleep of the paper, in seconds."""
WORSE: Final = 1.02
"""The least ratio of the best throughput to one that counts as less."""


def sleep_time(effort: Effort) -> Figure:
    settings = {}
    for sent in ENQUEUE_RATES:
        for asked in REQUEST_RATES:
            settings[_setting("rds", sent, asked)] = [
                (sleep, RdsParameters("rds", asked, enqueue_rate=sent, sleep=sleep))
                for sleep in SLEEPS
            ]
            # The conventional method has no sleep; its one result is drawn at all of them.
            plain = RdsParameters("conventional", asked, enqueue_rate=sent)
            settings[_setting("conventional", sent, asked)] = [(SLEEPS[0], plain)]
    found = rds_sweep("sleep", settings, effort)
    return Figure(
        "Throughput of rds by its sleep (rds, fig. 12)",
        found.columns(),
        tuple(_panel(found, sent) for sent in ENQUEUE_RATES),
        tuple(sleep_claims(found)),
        (
            "The paper gives neither the rate of sends nor that of requests: four and two are "
            "shown, and the claims are judged for each.",
            "The other readings are those of rds-fig9. A run of 100 s that starts empty gives a "
            "long sleep little time.",
        ),
    )


def _setting(method: str, sent: float, asked: float) -> str:
    return f"{method}, {sent:g} messages/s, λ = {asked:g}"


def _panel(found: RdsSweep, sent: float) -> Panel:
    curves = []
    for asked in REQUEST_RATES:
        family = f"λ = {asked:g}/s"
        values = found.values("throughput", _setting("rds", sent, asked))
        places = {float(place): each for place, each in enumerate(values.values(), 1)}
        (plain,) = found.values("throughput", _setting("conventional", sent, asked)).values()
        curves += [
            interval_curve(f"rds, {family}", places, family),
            interval_curve(f"conventional, {family}", dict.fromkeys(places, plain), family, True),
        ]
    return Panel(
        f"{sent:,.0f} messages sent a second",
        "sleep, s",
        MEASURES["throughput"],
        tuple(curves),
        x_names=tuple(f"{sleep:g}" for sleep in SLEEPS),
    )


def sleep_claims(found: RdsSweep) -> Iterator[Verdict]:
    for sent in ENQUEUE_RATES:
        for asked in REQUEST_RATES:
            case = f"{sent:,.0f} messages/s, λ = {asked:g}/s"
            values = found.values("throughput", _setting("rds", sent, asked))
            best = max(values, key=lambda sleep: values[sleep].mean)
            verdict = judge(
                f"5 s is the best sleep ({case})",
                "throughput at 5 s / at every other sleep",
                [ratio(values[BEST], each) for sleep, each in values.items() if sleep != BEST],
                least=1.0,
            )
            yield replace(verdict, found=f"{verdict.found}; the best is {best:g} s")
            yield judge(
                f"there is a best sleep, above and below which less is delivered ({case})",
                "throughput at the best sleep / at the shortest and at the longest",
                [ratio(values[best], values[sleep]) for sleep in (SLEEPS[0], SLEEPS[-1])],
                least=WORSE,
            )
