"""Evaluates `VmaParameters` by closed form, by the simulation kernel and by the Petri net.

All methods give the same measures, so that a figure or the command line can show them side by
side. Simulations start empty and last for the horizon of the run, as in the paper. Times are in
seconds and rates per second.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Final, TypeAlias

from dovemq.models import simulation
from dovemq.models.analytic import Vma, VmaMeasures, vma
from dovemq.models.errors import ModelError, NetworkInvalid
from dovemq.models.petri import vma as petri_vma
from dovemq.models.petri.vma import exponential, simulate_vma
from dovemq.models.simulation import Exponential, Run, Tandem
from dovemq.models.vma.parameters import VmaParameters


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval; a closed form is its own interval."""

    mean: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        return isfinite(self.mean)


@dataclass(frozen=True, slots=True)
class VmaAnswer:
    """`measures` by the names of `MEASURES`; `unstable` names the stations that are."""

    method: str
    measures: Mapping[str, Estimate]
    unstable: tuple[str, ...] = ()


VmaMethod: TypeAlias = Callable[[VmaParameters, Run], VmaAnswer]

MEASURES: Final[Mapping[str, str]] = {
    "delivery_time": "s",
    "waiting": "messages",
    "sender_utilisation": "1",
    "broker_utilisation": "1",
    "sender_any_busy": "1",
    "broker_any_busy": "1",
}
"""What every method answers, with units; utilisation is mean busy threads over all."""


def closed_form(parameters: VmaParameters) -> Vma:
    if parameters.order == "in":
        raise NetworkInvalid("order", "delivery in order has no closed form; it can be simulated")
    return Vma(
        arrival_rate=parameters.arrival_rate,
        sender_rate=parameters.sender_rate,
        broker_rate=parameters.broker_rate,
        sender_threads=parameters.sender_threads,
        broker_threads=parameters.broker_threads,
        reliability=parameters.reliability,
        link_delay=parameters.link_delay,
        visibility_timeout=parameters.visibility_timeout,
        gets_max=parameters.gets_max,
        failure=parameters.failure,
    )


def measured(parameters: VmaParameters) -> VmaMeasures:
    return vma(closed_form(parameters), as_printed=parameters.as_printed)


def by_formula(parameters: VmaParameters, run: Run | None = None) -> VmaAnswer:
    """Takes no run."""
    found = measured(parameters)
    values = {
        "delivery_time": found.delivery_time,
        "waiting": found.waiting,
        "sender_utilisation": found.sender.utilisation,
        "broker_utilisation": found.broker.utilisation,
        "sender_any_busy": found.sender.any_busy,
        "broker_any_busy": found.broker.any_busy,
    }
    stations = (("sender", found.sender), ("broker", found.broker))
    unstable = tuple(name for name, station in stations if not bool(station.stable))
    # What an overloaded sender passes on is not what arrives, so the broker is not known either.
    known = {name: "sender" not in unstable and name not in unstable for name, _ in stations}
    exact = {
        name: float(value) if known.get(name.partition("_")[0], True) else inf
        for name, value in values.items()
    }
    return VmaAnswer(
        "analytic",
        {name: Estimate(value, value, value) for name, value in exact.items()},
        unstable,
    )


def by_petri_net(parameters: VmaParameters, run: Run) -> VmaAnswer:
    check_simulable(parameters)
    found = simulate_vma(
        petri_vma.VmaParameters(
            arrival_rate=parameters.arrival_rate,
            send=exponential(parameters.sender_rate),
            broker=exponential(parameters.broker_rate),
            sender_threads=whole("sender_threads", parameters.sender_threads),
            broker_threads=whole("broker_threads", parameters.broker_threads),
            reliability=parameters.reliability,
            order=parameters.order,
            mode=parameters.failure,
            visibility_ms=round(1_000 * parameters.visibility_timeout),
            link_ms=round(1_000 * parameters.link_delay),
        ),
        replications=run.replications,
        duration_s=run.horizon,
        seed=run.seed,
    )
    measures = {
        "delivery_time": found.delivery_time_s,
        "waiting": found.waiting,
        "sender_utilisation": found.sender_utilisation,
        "broker_utilisation": found.broker_utilisation,
        "sender_any_busy": found.sender_any_busy,
        "broker_any_busy": found.broker_any_busy,
    }
    estimates = {name: estimate(found.mean, found.half_width) for name, found in measures.items()}
    return VmaAnswer("petri", estimates, _overloaded(parameters))


def _overloaded(parameters: VmaParameters) -> tuple[str, ...]:
    """A run of a hundred seconds ends all the same; its figures grow with its length."""
    loads = {
        "sender": parameters.arrival_rate / parameters.sender_rate / parameters.sender_threads,
        "broker": parameters.arrival_rate
        / parameters.reliability
        / parameters.broker_rate
        / parameters.broker_threads,
    }
    return tuple(station for station, load in loads.items() if load >= 1)


def by_kernel(parameters: VmaParameters, run: Run) -> VmaAnswer:
    check_simulable(parameters)
    with refusals():
        tandem = Tandem(
            arrival=Exponential(1.0 / parameters.arrival_rate),
            sender=Exponential(1.0 / parameters.sender_rate),
            broker=Exponential(1.0 / parameters.broker_rate),
            sender_threads=whole("sender_threads", parameters.sender_threads),
            broker_threads=whole("broker_threads", parameters.broker_threads),
            reliability=parameters.reliability,
            order=parameters.order,
            recovery=parameters.failure,
            visibility_timeout=parameters.visibility_timeout,
            link_delay=parameters.link_delay,
        )
        found = simulation.simulate_tandem(tandem, run)
    named = {
        "delivery_time": found.sojourn,
        "waiting": found.waiting,
        "sender_utilisation": found.sender_busy,
        "broker_utilisation": found.broker_busy,
        "sender_any_busy": found.sender_any_busy,
        "broker_any_busy": found.broker_any_busy,
    }
    measures = {name: estimate(each.mean, each.half_width) for name, each in named.items()}
    return VmaAnswer("kernel", measures, tuple(found.unstable))


def estimate(mean: float | None, half_width: float | None) -> Estimate:
    if mean is None:
        return Estimate(math.nan, math.nan, math.nan)
    width = half_width if half_width is not None else math.nan
    return Estimate(mean, mean - width, mean + width)


def check_simulable(parameters: VmaParameters) -> None:
    if parameters.as_printed or not math.isinf(parameters.gets_max):
        raise NetworkInvalid("gets_max, as_printed", "only the closed form knows these")
    for name in ("arrival_rate", "sender_rate", "broker_rate"):
        value = getattr(parameters, name)
        if not 0.0 < value < math.inf:
            raise NetworkInvalid(name, f"{value:g}: a finite number above 0 is needed")


def whole(name: str, value: float) -> int:
    if value != int(value):
        raise NetworkInvalid(name, f"{value:g} is no whole number")
    return int(value)


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Simulators refuse by ValueErrors that name the place."""
    try:
        yield
    except ModelError:
        raise
    except ValueError as error:
        raise NetworkInvalid("simulation", str(error)) from error


METHODS: Final[Mapping[str, VmaMethod]] = {
    "analytic": by_formula,
    "kernel": by_kernel,
    "petri": by_petri_net,
}
