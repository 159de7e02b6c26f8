"""vma-fig14 and vma-fig15: the three measures by service time and by arrival rate."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dovemq.experiments.claims import agreement, by_simulation, exact, judge
from dovemq.experiments.figure import Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.sweeps import VmaSweep, sweep
from dovemq.models.vma.parameters import PAPER, VmaParameters

SERVICE_MS = tuple(range(20, 201, 20))
ARRIVAL_RATES = tuple(range(5, 86, 5))
THREADS = (5, 6, 7, 8, 9, 10)
RELIABILITY = 0.88
SERVICE_RATE = float(PAPER.broker_rate)
LINEAR_UNTIL_MS = {5: 100, 7: 140}
FLAT_UNTIL_MS = {5: 80, 7: 120}
_SETTINGS = {threads: f"n = {threads}" for threads in THREADS}
_PANELS = {
    "delivery_time": ("delivery time", "mean delivery time, s"),
    "waiting": ("waiting messages", "waiting messages"),
    "sender_utilisation": ("sender", "busy threads / n"),
    "broker_utilisation": ("broker", "busy threads / n"),
}


def service_time(effort: Effort) -> Figure:
    points = {
        setting: [(float(ms), _scenario(threads, 30.0, 1000.0 / ms)) for ms in SERVICE_MS]
        for threads, setting in _SETTINGS.items()
    }
    found = sweep("service_ms", points, effort, orders=("out",))
    steady = [PaperMark("paper's text: steady at about 0.47", y=0.47)]
    marks = {
        "delivery_time": _turns("linear", LINEAR_UNTIL_MS),
        "waiting": _turns("hardly changes", FLAT_UNTIL_MS),
        "sender_utilisation": steady,
        "broker_utilisation": steady,
    }
    return Figure(
        "Performance by mean service time, λ = 30/s, q = 0.99 (vma, fig. 14)",
        found.columns(),
        _panels(found, "mean service time, ms", marks),
        tuple(service_claims(found)),
        (
            "Where ρ is 1 or more nothing is drawn: the closed form is infinite, and the numbers "
            "of a simulation, which are in the data, grow with the length of its run.",
        ),
    )


def service_claims(found: VmaSweep) -> Iterator[Verdict]:
    yield from _service_claims(found)
    yield from by_simulation(found, _agreement)


def _service_claims(found: VmaSweep) -> Iterator[Verdict]:
    delivery, waiting, busy = (
        {
            threads: dict(zip(SERVICE_MS, found.means(measure, setting), strict=True))
            for threads, setting in _SETTINGS.items()
        }
        for measure in ("delivery_time", "waiting", "sender_utilisation")
    )
    alone = (1.0 + 1.0 / float(PAPER.reliability)) / 1000.0
    for threads, turn in LINEAR_UNTIL_MS.items():
        yield _turns_after(
            f"with {threads} threads the delivery time is linear until {turn} ms",
            "delivery time / service alone",
            {ms: value / (alone * ms) for ms, value in delivery[threads].items()},
            turn,
            1.15,
        )
    for threads, turn in FLAT_UNTIL_MS.items():
        claim = f"with {threads} threads waiting hardly changes until {turn} ms"
        yield _turns_after(claim, "waiting messages", waiting[threads], turn, 0.5)
    yield _turns_after(
        "more threads help where the service takes more than 100 ms",
        "delivery time with 5 threads / with 10",
        {ms: delivery[5][ms] / delivery[10][ms] for ms in (80, 120)},
        80,
        1.1,
    )
    steps = itertools.pairwise(busy[10].values())
    yield judge(
        "utilisation stays at about 47 % for a while before it rises (analytic; it is λ·s/n)",
        "least growth of busy threads / n in a step of 20 ms, n = 10",
        exact([min(after / before - 1.0 for before, after in steps)]),
        most=0.05,
    )


def _turns_after(
    claim: str, quantity: str, values: Mapping[int, float], turn_ms: int, most: float
) -> Verdict:
    """The values are low until the turn, and high 40 ms later."""
    until, after = max(values[ms] for ms in values if ms <= turn_ms), values[turn_ms + 40]
    return Verdict(
        f"{claim} (analytic)",
        f"{quantity}: at most {most:g} until {turn_ms} ms, more at {turn_ms + 40} ms",
        until <= most < after,
        f"{until:.3g}, then {after:.3g}",
    )


def _agreement(found: VmaSweep, method: str) -> Iterator[Verdict]:
    yield agreement(found, "delivery_time", method)


def arrival_rate(effort: Effort) -> Figure:
    points = {
        setting: [
            (float(rate), replace(_scenario(threads, float(rate)), reliability=RELIABILITY))
            for rate in ARRIVAL_RATES
            if rate < SERVICE_RATE * threads * RELIABILITY
        ]
        for threads, setting in _SETTINGS.items()
    }
    found = sweep("arrival_rate", points, effort, orders=("out",))
    return Figure(
        "Performance by arrival rate, μ = 10/s, q = 0.88 (vma, fig. 15)",
        found.columns(),
        _panels(found, "arrival rate, messages/s", {}),
        tuple(rate_claims(found)),
        ("The paper does not give the range of λ: it goes in steps of 5/s up to ρ = 1.",),
    )


def rate_claims(found: VmaSweep) -> Iterator[Verdict]:
    yield from _rate_claims(found)
    yield from by_simulation(found, _agreement)


def _rate_claims(found: VmaSweep) -> Iterator[Verdict]:
    rises, busier = [], []
    for setting in found.settings:
        first, *_, last_but_one, last = found.means("delivery_time", setting)
        rises.append((last - last_but_one) / (last_but_one - first))
        pair = (found.means(f"{station}_utilisation", setting) for station in ("broker", "sender"))
        busier += [broker / sender for broker, sender in zip(*pair, strict=True)]
    yield judge(
        "delivery time rises slowly, then steeply near ρ = 1, for every n (analytic)",
        "rise in the last step / in all steps before",
        exact(rises),
        least=1.0,
    )
    yield judge(
        "the broker is always a little busier than the sender (analytic)",
        "busy threads of broker / sender, at every rate",
        exact(busier),
        least=1.0,
    )


def _scenario(threads: int, arrivals: float, services: float = SERVICE_RATE) -> VmaParameters:
    return VmaParameters(arrivals, services, services, threads, threads, float(PAPER.reliability))


def _panels(
    found: VmaSweep, x_label: str, marks: Mapping[str, Sequence[PaperMark]]
) -> tuple[Panel, ...]:
    labels = {setting: setting for setting in found.settings}
    return tuple(
        Panel(title, x_label, y_label, found.curves(measure, labels), tuple(marks.get(measure, ())))
        for measure, (title, y_label) in _PANELS.items()
    )


def _turns(word: str, turns_ms: Mapping[int, int]) -> list[PaperMark]:
    return [
        PaperMark(f"paper's text: {word} until {turn} ms, n = {threads}", x=float(turn))
        for threads, turn in turns_ms.items()
    ]
