"""rds-readings: what becomes of the paper's claims if its gaps are filled in other ways.

Not a figure of the paper. It varies what the paper leaves open: the rate of sends, whether back
ends and senders wait for their answers, the period of pms and whether it regulates, and whether an
arriving message ends a sleep.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Effort, Figure, Panel, Verdict
from dovemq.experiments.intervals import ratio
from dovemq.experiments.rds_sweeps import MEASURES, RdsSweep, by_request_rate, rds_sweep
from dovemq.models.estimates import Interval
from dovemq.models.simulation import RdsParameters

LOW, HIGH = 10.0, 200.0
REQUEST_RATES: Final = (LOW, 50.0, 100.0, HIGH)
ENQUEUE_RATES: Final = (250.0, 500.0, 1_000.0, 2_000.0, 4_000.0)
PERIODS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
PERIOD_RATE: Final = 100.0
SYSTEMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "conventional": {"method": "conventional"},
    "pms": {"method": "pms"},
    "pms that regulates": {"method": "pms", "regulation": True},
    "rds, sleep 5 s": {"method": "rds", "sleep": 5.0},
    "rds, sleep 5 s, woken by arrival": {"method": "rds", "sleep": 5.0, "wake": "arrival"},
}
LOOPS: Final[Mapping[str, Mapping[str, Any]]] = {
    "open": {},
    "closed": {"loop": "closed"},
    "crowded": {"loop": "closed", "senders": 20, "controllers": 100},
}
TITLES: Final = {
    "open": "back ends do not wait for answers",
    "closed": "back ends wait for answers",
    "crowded": "100 back ends and 20 senders wait for answers",
}
GAIN: Final = 1.8


def readings(effort: Effort) -> Figure:
    by_rate = {name: _by_rate(name, effort) for name in LOOPS}
    by_sends, by_period = _by_sends(effort), _by_period(effort)
    columns = [sweep.columns() for sweep in (*by_rate.values(), by_sends, by_period)]
    return Figure(
        "Throughput under other readings of what the paper leaves open (rds)",
        {name: [value for each in columns for value in each[name]] for name in columns[0]},
        (*(_panel(name, sweep) for name, sweep in by_rate.items()), *_others(by_sends, by_period)),
        tuple(reading_claims(by_rate, by_sends)),
        (
            "The figure is not one of the paper; the claims are, under readings that it does not "
            "exclude.",
            "A pms that regulates asks no queue for more messages than its last look has shown.",
            "Where nothing else is said, readings are those of rds-fig9.",
        ),
    )


def _by_rate(loop: str, effort: Effort) -> RdsSweep:
    systems = {
        name: RdsParameters(request_rate=1.0, **system, **LOOPS[loop])
        for name, system in SYSTEMS.items()
    }
    return rds_sweep("request_rate", by_request_rate(systems, REQUEST_RATES), effort)


def _by_sends(effort: Effort) -> RdsSweep:
    settings = {
        _at(name, asked): [
            (sent, RdsParameters(request_rate=asked, enqueue_rate=sent, **SYSTEMS[name]))
            for sent in ENQUEUE_RATES
        ]
        for name in ("conventional", "rds, sleep 5 s")
        for asked in (LOW, HIGH)
    }
    return rds_sweep("enqueue_rate", settings, effort)


def _by_period(effort: Effort) -> RdsSweep:
    settings = {
        name: [
            (period, RdsParameters(request_rate=PERIOD_RATE, period=period, **SYSTEMS[name]))
            for period in PERIODS
        ]
        for name in ("pms", "pms that regulates")
    }
    return rds_sweep("period", settings, effort)


def _at(name: str, asked: float) -> str:
    return f"{name}, λ = {asked:g}/s"


def _panel(loop: str, sweep: RdsSweep) -> Panel:
    curves = sweep.curves("throughput", {name: name for name in SYSTEMS})
    title, x_label = TITLES[loop], "requests of one back end a second, λ"
    return Panel(title, x_label, MEASURES["throughput"], curves)


def _others(by_sends: RdsSweep, by_period: RdsSweep) -> Iterator[Panel]:
    labels = {
        _at(name, asked): _at(name, asked)
        for name in ("conventional", "rds, sleep 5 s")
        for asked in (LOW, HIGH)
    }
    curves = by_sends.curves("throughput", labels)
    yield Panel("by the rate of sends", "messages sent a second", MEASURES["throughput"], curves)
    curves = by_period.curves("throughput", {name: name for name in ("pms", "pms that regulates")})
    title, x_label = f"pms by its period, λ = {PERIOD_RATE:g}/s", "period of the looks, s"
    yield Panel(title, x_label, MEASURES["throughput"], curves)


def reading_claims(by_rate: Mapping[str, RdsSweep], by_sends: RdsSweep) -> Iterator[Verdict]:
    for loop, sweep in by_rate.items():
        case = TITLES[loop]
        yield judge(
            f"the conventional method loses throughput as requests become more frequent ({case})",
            "throughput at 200 requests/s / at 10, conventional",
            [_kept(sweep, "conventional")],
            most=0.9,
        )
        yield judge(
            f"rds delivers more than a pms that regulates ({case})",
            "rds with a sleep of 5 s / pms that regulates, at 200 requests/s",
            sweep.ratios("throughput", "rds, sleep 5 s", "pms that regulates", (HIGH,)),
            least=1.0,
        )
        yield judge(
            f"rds delivers 1.8 times as much as the conventional method ({case})",
            "rds with a sleep of 5 s / conventional, at 200 requests/s",
            sweep.ratios("throughput", "rds, sleep 5 s", "conventional", (HIGH,)),
            least=GAIN,
        )
    for sent in ENQUEUE_RATES:
        low, high = (
            by_sends.values("throughput", _at("rds, sleep 5 s", asked))[sent]
            for asked in (LOW, HIGH)
        )
        yield judge(
            f"rds keeps its throughput however frequent requests are ({sent:,.0f} messages/s)",
            "throughput at 200 requests/s / at 10, sleep 5 s",
            [ratio(high, low)],
            least=0.9,
        )


def _kept(sweep: RdsSweep, setting: str) -> Interval:
    values = sweep.values("throughput", setting)
    return ratio(values[HIGH], values[LOW])
