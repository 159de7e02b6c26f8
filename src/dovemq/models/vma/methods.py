"""Evaluates `VmaParameters` by closed form, by the simulation kernel and by the Petri net.

All methods give the same measures, so that a figure or the command line can show them side by
side. Simulations start empty and last for the horizon of the run, as in the paper. Times are in
seconds and rates per second; the net counts time in whole ticks, which are short enough for the
rates.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

from dovemq.models.analytic import VmaMeasures, vma
from dovemq.models.estimates import Estimate, exact
from dovemq.models.petri.vma import simulate_vma
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.vma.parameters import VmaParameters

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

    `closed_form` holds all figures of the closed form, where that is the method.
    """

    method: str
    measures: Mapping[str, Estimate]
    unstable: tuple[str, ...] = ()
    closed_form: VmaMeasures | None = None


VmaMethod: TypeAlias = Callable[[VmaParameters, SimulationRun], VmaAnswer]


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
    return VmaAnswer("analytic", measures, unstable, found)


def by_kernel(parameters: VmaParameters, run: SimulationRun) -> VmaAnswer:
    found = simulate_tandem(parameters, run)
    busy = (found.sender_busy, found.broker_busy, found.sender_any_busy, found.broker_any_busy)
    measures = dict(zip(MEASURES, (found.sojourn, found.waiting, *busy), strict=True))
    return VmaAnswer("kernel", measures, found.unstable)


def by_petri_net(parameters: VmaParameters, run: SimulationRun) -> VmaAnswer:
    found = simulate_vma(
        parameters, replications=run.replications, duration_s=run.horizon, seed=run.seed
    )
    measures = {name: getattr(found, name) for name in list(MEASURES)[1:]}
    measures = {"delivery_time": found.delivery_time_s, **measures}
    return VmaAnswer("petri", measures, parameters.overloaded)


METHODS: Final[Mapping[str, VmaMethod]] = {
    "analytic": lambda parameters, run: by_formula(parameters),
    "kernel": by_kernel,
    "petri": by_petri_net,
}
