"""Distributions of a service time: their moments and their Laplace–Stieltjes transform.

Each is made from its mean and, where it has a choice, its squared coefficient of variation (scv).
Two-branch hyperexponentials have balanced means (Whitt 1982): both branches bring half the work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovemq.models.analytic import parameters
from dovemq.models.errors import ParameterInvalid

Transform: TypeAlias = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]
STAGES_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Service:
    """`moments` are E[S], E[S²] and E[S³]; `constant`: the time of one that never varies."""

    name: str
    moments: tuple[float, float, float]
    transform: Transform
    constant: float | None = None

    @property
    def mean(self) -> float:
        return self.moments[0]

    @property
    def scv(self) -> float:
        return self.moments[1] / self.mean**2 - 1.0


def exponential(mean: float) -> Service:
    time = float(parameters.positive(mean, "mean"))
    return Service(
        "exponential", (time, 2 * time**2, 6 * time**3), lambda s: 1.0 / (1.0 + time * s)
    )


def deterministic(mean: float) -> Service:
    time = float(parameters.positive(mean, "mean"))
    return Service("deterministic", (time, time**2, time**3), lambda s: np.exp(-time * s), time)


def erlang(mean: float, stages: int) -> Service:
    count = float(parameters.servers(stages, "stages"))
    if count > STAGES_MAX:
        raise ParameterInvalid("stages", stages, f"at most {STAGES_MAX}")
    return _gamma("erlang", mean, count)


def gamma(mean: float, scv: float) -> Service:
    return _gamma("gamma", mean, 1.0 / float(parameters.positive(scv, "scv")))


def hyperexponential(mean: float, scv: float) -> Service:
    time = float(parameters.positive(mean, "mean"))
    spread = float(parameters.scv(scv, "scv"))
    if spread < 1.0:
        raise ParameterInvalid("scv", f"{spread:g}", "at least 1, for a hyperexponential service,")
    first = 0.5 * (1.0 + np.sqrt((spread - 1.0) / (spread + 1.0)))
    branches = [(first, time / (2.0 * first)), (1.0 - first, time / (2.0 * (1.0 - first)))]
    moments = tuple(
        float(factorial * sum(share * branch**power for share, branch in branches))
        for power, factorial in ((1, 1), (2, 2), (3, 6))
    )

    def transform(s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        total: Any = sum(share / (1.0 + branch * s) for share, branch in branches)
        return np.asarray(total, dtype=np.complex128)

    return Service("hyperexponential", (moments[0], moments[1], moments[2]), transform)


def fitted(mean: float, scv: float) -> Service:
    """The one of these that is usual for an scv: none, below, equal to or above 1."""
    spread = float(parameters.scv(scv, "scv"))
    if spread == 0.0:
        return deterministic(mean)
    if spread == 1.0:
        return exponential(mean)
    return gamma(mean, spread) if spread < 1.0 else hyperexponential(mean, spread)


def _gamma(name: str, mean: float, shape: float) -> Service:
    time = float(parameters.positive(mean, "mean"))
    scale = time / shape
    moments = (
        time,
        time * (time + scale),
        time * (time + scale) * (time + 2.0 * scale),
    )
    return Service(name, moments, lambda s: (1.0 + scale * s) ** -shape)
