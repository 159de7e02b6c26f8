"""rds-fig9 to rds-fig11: throughput, hit rate and messages per hit by the rate of requests."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Effort, Figure, Panel, Verdict
from dovemq.experiments.intervals import ratio
from dovemq.experiments.rds_sweeps import MEASURES, RdsSweep, by_request_rate, rds_sweep
from dovemq.models.estimates import Interval
from dovemq.models.simulation import RdsParameters

REQUEST_RATES: Final = (10.0, 20.0, 50.0, 100.0, 150.0, 200.0)
HIGH_RATES: Final = (100.0, 150.0, 200.0)
SLEEPS: Final = (0.1, 1.0, 5.0)
SLEEPING: Final[Mapping[float, str]] = {sleep: f"rds, sleep {sleep:g} s" for sleep in SLEEPS}
NO_LOWER: Final = 0.98
KEPT: Final = 0.9
X_LABEL: Final = "requests of one back end a second, λ"
READINGS: Final = (
    "Back ends do not wait for their answers: the paper says that requests are a Poisson process.",
    "Every queue has one server for sends and accesses, first come, first served. The paper gives "
    "costs, and not how they are served.",
    "2,000 messages are sent a second in all: the paper gives no rate. rds-readings has others.",
    "The sleep of Fig. 9 to 11 is not in the paper. Three are shown; 5 s is the best of Fig. 12.",
    "A controller with a parked request refuses new ones until it wakes. Otherwise requests would "
    "pile up while it sleeps.",
    "pms looks at every queue once a second and follows these numbers, however old; it does not "
    "regulate.",
    "A miss of rds is a request whose first queue is empty. Hit rates are by access to a queue.",
    "Runs last 100 s and start empty.",
)


def _by_rate(effort: Effort) -> RdsSweep:
    systems = {
        "conventional": RdsParameters("conventional", 1.0),
        "pms": RdsParameters("pms", 1.0),
        **{name: RdsParameters("rds", 1.0, sleep=sleep) for sleep, name in SLEEPING.items()},
    }
    settings = by_request_rate(systems, REQUEST_RATES)
    return effort.once("rds by rate", lambda: rds_sweep("request_rate", settings, effort))


def _figure(title: str, measure: str, found: RdsSweep, verdicts: Iterator[Verdict]) -> Figure:
    labels = {name: name for name in ("conventional", "pms", *SLEEPING.values())}
    curves = found.curves(measure, labels)
    panel = Panel("2,000 messages/s, open loop", X_LABEL, MEASURES[measure], curves)
    return Figure(title, found.columns(), (panel,), tuple(verdicts), READINGS)


def throughput(effort: Effort) -> Figure:
    found = _by_rate(effort)
    title = "Throughput by the rate of requests (rds, fig. 9)"
    return _figure(title, "throughput", found, throughput_claims(found))


def throughput_claims(found: RdsSweep) -> Iterator[Verdict]:
    yield judge(
        "the throughput of the conventional method falls as requests become more frequent",
        "throughput / throughput at the rate before, conventional",
        _steps(found, "conventional"),
        most=1.0,
    )
    yield judge(
        "from 100 to 200 requests/s, pms delivers more than the conventional method",
        "pms / conventional",
        found.ratios("throughput", "pms", "conventional", HIGH_RATES),
        least=1.0,
    )
    for name in SLEEPING.values():
        yield judge(
            f"rds delivers the most at every rate ({name})",
            "rds / conventional and rds / pms, at every rate",
            [
                *found.ratios("throughput", name, "conventional"),
                *found.ratios("throughput", name, "pms"),
            ],
            least=NO_LOWER,
        )
    for name in SLEEPING.values():
        values = found.values("throughput", name)
        first = values[REQUEST_RATES[0]]
        yield judge(
            f"rds keeps its throughput however frequent requests are ({name})",
            "throughput / throughput at 10 requests/s",
            [ratio(values[rate], first) for rate in REQUEST_RATES[1:]],
            least=KEPT,
        )


def _steps(found: RdsSweep, setting: str) -> list[Interval]:
    values = found.values("throughput", setting).values()
    return [ratio(after, before) for before, after in itertools.pairwise(values)]


def hit_rate(effort: Effort) -> Figure:
    found = _by_rate(effort)
    title = "Share of accesses that find messages, by the rate of requests (rds, fig. 10)"
    return _figure(title, "hit_rate", found, hit_claims(found))


def hit_claims(found: RdsSweep) -> Iterator[Verdict]:
    yield judge(
        "from 100 to 200 requests/s, pms has a lower hit rate than the conventional method",
        "pms / conventional",
        found.ratios("hit_rate", "pms", "conventional", HIGH_RATES),
        most=1.0,
    )
    yield from _above_conventional(found, "hit_rate", "rds has a higher hit rate")


def messages_per_hit(effort: Effort) -> Figure:
    found = _by_rate(effort)
    title = "Messages found by a hit, by the rate of requests (rds, fig. 11)"
    return _figure(title, "messages_per_hit", found, batch_claims(found))


def batch_claims(found: RdsSweep) -> Iterator[Verdict]:
    yield judge(
        "from 100 to 200 requests/s, a hit of pms finds more messages than a conventional one",
        "pms / conventional",
        found.ratios("messages_per_hit", "pms", "conventional", HIGH_RATES),
        least=1.0,
    )
    yield from _above_conventional(found, "messages_per_hit", "a hit of rds finds more messages")


def _above_conventional(found: RdsSweep, measure: str, claim: str) -> Iterator[Verdict]:
    for name in SLEEPING.values():
        yield judge(
            f"{claim} than the conventional method ({name})",
            "rds / conventional, at every rate",
            found.ratios(measure, name, "conventional"),
            least=1.0,
        )
