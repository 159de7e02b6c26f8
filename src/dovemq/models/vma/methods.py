"""Evaluates `VmaParameters` by closed form, by the simulation kernel and by the Petri net.

All methods give the same measures, so that a figure or the command line can show them side by
side. Simulations start empty; the paper's runs have no warm-up, and `run_for` chooses a length and
a warm-up for the load. Times are in seconds and rates per second; the net counts time in whole
ticks, which are short enough for the rates.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Protocol

from dovemq.models.analytic import VmaMeasures, vma
from dovemq.models.analytic.delivery import delivery_quantile
from dovemq.models.estimates import Estimate, exact
from dovemq.models.petri.vma import simulate_vma
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.simulation.lengths import (
    ARRIVALS_MAX,
    NO_STEADY_STATE,
    horizon_for,
    relaxation_time,
    too_short,
)
from dovemq.models.simulation.runs import Progress
from dovemq.models.vma.parameters import VmaParameters

HORIZON_MIN: Final = 100.0
"""The least length of a run that is chosen for the load: that of the paper."""
PETRI_ARRIVALS_MAX: Final = 4e5
"""The most arrivals of all replications of such a run of the net: some 40 s of work."""
MEASURES: Final[Mapping[str, str]] = {
    "delivery_time": "s",
    "waiting": "messages",
    "sender_utilisation": "1",
    "broker_utilisation": "1",
    "sender_any_busy": "1",
    "broker_any_busy": "1",
}
"""The measures of every method with their units; utilisation is the share of busy threads."""


@dataclass(frozen=True, slots=True)
class VmaAnswer:
    """`measures` has the names of `MEASURES`; `unstable` names the stations that are unstable.

    `closed_form` holds all figures of the closed form, where that is the method. `warnings` say why
    the figures of a simulation may be wrong. `quantile` is that of the delivery time, if known.
    `run` is that of a simulation, with its warm-up.
    """

    method: str
    measures: Mapping[str, Estimate]
    unstable: tuple[str, ...] = ()
    closed_form: VmaMeasures | None = None
    warnings: tuple[str, ...] = ()
    quantile: Callable[[float], Estimate] | None = None
    run: SimulationRun | None = None


class VmaMethod(Protocol):
    """Answers a question; `progress` is called with the number of replications done."""

    def __call__(
        self, parameters: VmaParameters, run: SimulationRun, progress: Progress | None = None
    ) -> VmaAnswer: ...


def by_formula(parameters: VmaParameters, *, as_printed: bool = False) -> VmaAnswer:
    found = vma(parameters, as_printed=as_printed)
    values = (
        found.delivery_time,
        found.waiting,
        found.sender.utilisation,
        found.broker.utilisation,
        found.sender.any_busy,
        found.broker.any_busy,
    )
    stations = (("sender", found.sender), ("broker", found.broker))
    unstable = tuple(name for name, station in stations if not bool(station.stable))
    # An overloaded sender passes on less than arrives, so the broker is not known either.
    known = {name: "sender" not in unstable and name not in unstable for name, _ in stations}
    measures = {
        name: exact(float(value) if known.get(name.partition("_")[0], True) else inf)
        for name, value in zip(MEASURES, values, strict=True)
    }
    quantile = None if as_printed else _quantile(parameters, found)
    return VmaAnswer("analytic", measures, unstable, found, (), quantile)


def _quantile(parameters: VmaParameters, found: VmaMeasures) -> Callable[[float], Estimate]:
    return lambda level: exact(delivery_quantile(parameters, found, level))


def by_kernel(
    parameters: VmaParameters, run: SimulationRun, progress: Progress | None = None
) -> VmaAnswer:
    found = simulate_tandem(parameters, run, progress)
    busy = (found.sender_busy, found.broker_busy, found.sender_any_busy, found.broker_any_busy)
    measures = dict(zip(MEASURES, (found.sojourn, found.waiting, *busy), strict=True))
    warnings = _warnings(parameters, run, found.steadiness, found.imprecision)
    done = replace(run, warm_up=found.warm_up)
    return VmaAnswer("kernel", measures, found.unstable, None, warnings, found.quantile, done)


def by_petri_net(
    parameters: VmaParameters, run: SimulationRun, progress: Progress | None = None
) -> VmaAnswer:
    """Simulates the net. The kernel finds the warm-up: its pilot runs have the same service."""
    parameters.check_simulable()
    run.check_arrivals(1.0 / parameters.arrival_time.mean)
    if run.warm_up == "auto":
        pilot = replace(run, replications=1, precision=None)
        run = replace(run, warm_up=simulate_tandem(parameters, pilot).warm_up)
    found = simulate_vma(
        parameters,
        replications=run.replications,
        duration_s=run.horizon,
        warmup_s=float(run.warm_up),
        seed=run.seed,
        confidence=run.confidence,
        progress=progress,
        enough=None if run.precision is None else run.is_precise,
        replications_max=run.replications_max,
    )
    measures = {name: getattr(found, name) for name in list(MEASURES)[1:]}
    measures = {"delivery_time": found.delivery_time_s, **measures}
    warnings = _warnings(parameters, run, run.imprecision(found.delivery_time_s))
    return VmaAnswer("petri", measures, parameters.overloaded, None, warnings, None, run)


def relaxation_of(parameters: VmaParameters) -> float:
    """Returns the longer relaxation time of both stations."""
    return max(
        relaxation_time(
            load,
            float(getattr(parameters, f"{station}_threads")),
            1.0 / mean,
            0.5 * (parameters.arrival_time.scv + getattr(parameters, f"{station}_time").scv),
        )
        for station, load in parameters.utilisations.items()
        if (mean := getattr(parameters, f"{station}_time").mean) > 0.0
    )


def run_for(
    parameters: VmaParameters, replications: int, arrivals_max: float = ARRIVALS_MAX
) -> SimulationRun:
    """Returns a run that is long enough for the load, with a warm-up found by pilot runs."""
    parameters.check_simulable()
    most = arrivals_max * parameters.arrival_time.mean / replications
    horizon = horizon_for(relaxation_of(parameters), HORIZON_MIN, most)
    return SimulationRun(horizon, warm_up="auto", replications=replications)


def _warnings(
    parameters: VmaParameters, run: SimulationRun, *others: str | None
) -> tuple[str, ...]:
    if parameters.overloaded:
        return (NO_STEADY_STATE,)
    found = (*others, too_short(run.horizon, relaxation_of(parameters)))
    return tuple(text for text in found if text is not None)


METHODS: Final[Mapping[str, VmaMethod]] = {
    "analytic": lambda parameters, run, progress=None: by_formula(parameters),
    "kernel": by_kernel,
    "petri": by_petri_net,
}
