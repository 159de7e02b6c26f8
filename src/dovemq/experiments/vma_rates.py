"""vma-fig14 and vma-fig15: the three measures by service time and by arrival rate."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dovemq.experiments.claims import agreement, exact, judge
from dovemq.experiments.figure import Effort, Figure, Mark, Panel, Verdict
from dovemq.experiments.scenario import Scenario
from dovemq.experiments.sweeps import PAPER, VmaSweep, sweep

SERVICE_MS = tuple(range(20, 201, 20))
ARRIVAL_RATES = tuple(range(5, 86, 5))
THREADS = (5, 6, 7, 8, 9, 10)
RELIABILITY = 0.88
LINEAR_UNTIL_MS = {5: 100, 7: 140}
FLAT_UNTIL_MS = {5: 80, 7: 120}
STEADY_UTILISATION = 0.47
_BENT = 0.15
_FLAT = 0.5
_STEADY = 0.05


def service_time(effort: Effort) -> Figure:
    found = sweep(
        "service_ms",
        {
            _setting(threads): [
                (
                    float(service),
                    _scenario(threads, arrival_rate=30.0, service_rate=1000.0 / service),
                )
                for service in SERVICE_MS
            ]
            for threads in THREADS
        },
        effort,
        orders=("out",),
    )
    return Figure(
        "Performance by mean service time, λ = 30/s, q = 0.99 (vma, fig. 14)",
        found.columns(),
        _panels(
            found,
            "mean service time, ms",
            {
                "delivery_time": _turns("linear", LINEAR_UNTIL_MS),
                "waiting": _turns("hardly changes", FLAT_UNTIL_MS),
                "sender_utilisation": _STEADY_MARK,
                "broker_utilisation": _STEADY_MARK,
            },
        ),
        (
            *(_linear_until(found, *turn) for turn in LINEAR_UNTIL_MS.items()),
            *(_no_effect_until(found, *turn) for turn in FLAT_UNTIL_MS.items()),
            _more_threads_help(found),
            _steady_utilisation(found),
            *agreement(found, "delivery_time"),
        ),
        (
            "Where ρ is 1 or more nothing is drawn: the closed form is infinite, and the numbers "
            "of a simulation, which are in the data, grow with the length of its run.",
        ),
    )


def arrival_rate(effort: Effort) -> Figure:
    found = sweep(
        "arrival_rate",
        {
            _setting(threads): [
                (
                    float(rate),
                    replace(_scenario(threads, arrival_rate=float(rate)), reliability=RELIABILITY),
                )
                for rate in ARRIVAL_RATES
                if rate < PAPER.broker_rate * threads * RELIABILITY
            ]
            for threads in THREADS
        },
        effort,
        orders=("out",),
    )
    return Figure(
        "Performance by arrival rate, μ = 10/s, q = 0.88 (vma, fig. 15)",
        found.columns(),
        _panels(found, "arrival rate, messages/s", {}),
        (
            _rises_steeply(found),
            judge(
                "the broker is always a little busier than the sender (analytic)",
                "broker / sender is above 1 at every rate",
                exact(
                    broker / sender
                    for setting in found.settings
                    for broker, sender in zip(
                        found.means("broker_utilisation", setting),
                        found.means("sender_utilisation", setting),
                        strict=True,
                    )
                ),
                at_least=1.0,
                found="broker / sender, which is 1/q",
            ),
            *agreement(found, "delivery_time"),
        ),
        ("The paper does not give the range of λ: it goes in steps of 5/s up to ρ = 1.",),
    )


def _setting(threads: int) -> str:
    return f"n = {threads}"


def _scenario(
    threads: int, arrival_rate: float, service_rate: float = PAPER.sender_rate
) -> Scenario:
    return replace(
        PAPER,
        arrival_rate=arrival_rate,
        sender_rate=service_rate,
        broker_rate=service_rate,
        sender_threads=threads,
        broker_threads=threads,
    )


def _panels(
    found: VmaSweep, x_label: str, marks: Mapping[str, Sequence[Mark]]
) -> tuple[Panel, ...]:
    labels = {setting: setting for setting in found.settings}
    parts = (
        ("delivery_time", "delivery time", "mean delivery time, s"),
        ("waiting", "waiting messages", "waiting messages"),
        ("sender_utilisation", "sender", "busy threads / n"),
        ("broker_utilisation", "broker", "busy threads / n"),
    )
    return tuple(
        Panel(title, x_label, y_label, found.curves(measure, labels), tuple(marks.get(measure, ())))
        for measure, title, y_label in parts
    )


def _turns(word: str, turns_ms: Mapping[int, int]) -> list[Mark]:
    return [
        Mark(f"paper's text: {word} until {turn} ms, n = {threads}", x=float(turn))
        for threads, turn in turns_ms.items()
    ]


_STEADY_MARK = (Mark("paper's text: steady at about 0.47", y=STEADY_UTILISATION),)


def _by_service(found: VmaSweep, measure: str, threads: int) -> dict[float, float]:
    values = found.means(measure, _setting(threads))
    return dict(zip(map(float, SERVICE_MS), values, strict=True))


def _linear_until(found: VmaSweep, threads: int, turn_ms: int) -> Verdict:
    excess = {
        service: value / ((1.0 + 1.0 / PAPER.reliability) * service / 1000.0) - 1.0
        for service, value in _by_service(found, "delivery_time", threads).items()
    }
    until = max(value for at, value in excess.items() if at <= turn_ms)
    after = excess[turn_ms + 40]
    return Verdict(
        f"with {threads} threads the delivery time is linear until {turn_ms} ms (analytic)",
        f"at most {_BENT:.0%} above the service alone until {turn_ms} ms, more at "
        f"{turn_ms + 40} ms",
        until <= _BENT < after,
        f"{until:.1%} until {turn_ms} ms, {after:.1%} at {turn_ms + 40} ms",
    )


def _no_effect_until(found: VmaSweep, threads: int, turn_ms: int) -> Verdict:
    values = _by_service(found, "waiting", threads)
    until = max(value for at, value in values.items() if at <= turn_ms)
    after = values[turn_ms + 40]
    return Verdict(
        f"with {threads} threads waiting hardly changes until {turn_ms} ms (analytic)",
        f"at most {_FLAT:g} messages until {turn_ms} ms, more at {turn_ms + 40} ms",
        until <= _FLAT < after,
        f"{until:.2f} messages until {turn_ms} ms, {after:.2f} at {turn_ms + 40} ms",
    )


def _more_threads_help(found: VmaSweep) -> Verdict:
    few, many = (_by_service(found, "delivery_time", threads) for threads in (5, 10))
    short, long = (few[service] / many[service] - 1.0 for service in (80.0, 140.0))
    return Verdict(
        "more threads help where the service takes more than 100 ms (analytic, 5 against 10)",
        "5 threads take at most 10 % longer at 80 ms, and more than 10 % longer at 140 ms",
        short < 0.1 < long,
        f"{short:.1%} at 80 ms, {long:.1%} at 140 ms",
    )


def _steady_utilisation(found: VmaSweep) -> Verdict:
    values = list(_by_service(found, "sender_utilisation", THREADS[-1]).values())
    growth = [other / one - 1.0 for one, other in itertools.pairwise(values)]
    return Verdict(
        "utilisation stays at about 47 % for a while before it rises "
        f"(analytic, busy threads / n, {_setting(THREADS[-1])})",
        f"some step of 20 ms raises it by less than {_STEADY:.0%}",
        min(growth) < _STEADY,
        f"every step raises it by {min(growth):.0%} or more: it is λ·s/n, in proportion to the "
        "service time s",
    )


def _rises_steeply(found: VmaSweep) -> Verdict:
    rises = []
    for setting in found.settings:
        first, *_, last_but_one, last = found.means("delivery_time", setting)
        rises.append((last - last_but_one) / (last_but_one - first))
    return judge(
        "delivery time rises slowly, then steeply near ρ = 1, for every n (analytic)",
        "the last step rises more than all steps before it together",
        exact(rises),
        at_least=1.0,
        found="last step / all before",
    )
