"""Distributions of times: what they are and their moments.

Every distribution is told by its mean first, in the unit of time of the model. Times are never
negative. How a kernel draws from them is told in `sampling.py`.
"""

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from dovemq.models.simulation.checking import not_negative, positive, refuse, shares, whole

STAGES_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Exponential:
    mean: float

    def __post_init__(self) -> None:
        positive("Exponential.mean", self.mean)

    @property
    def scv(self) -> float:
        return 1.0


@dataclass(frozen=True, slots=True)
class Deterministic:
    mean: float

    def __post_init__(self) -> None:
        not_negative("Deterministic.mean", self.mean)

    @property
    def scv(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class Erlang:
    """The sum of `stages` exponential times of equal mean."""

    mean: float
    stages: int

    def __post_init__(self) -> None:
        positive("Erlang.mean", self.mean)
        whole("Erlang.stages", self.stages, 1, STAGES_MAX)

    @property
    def scv(self) -> float:
        return 1.0 / self.stages


@dataclass(frozen=True, slots=True)
class Gamma:
    mean: float
    scv: float

    def __post_init__(self) -> None:
        positive("Gamma.mean", self.mean)
        positive("Gamma.scv", self.scv)


@dataclass(frozen=True, slots=True)
class HyperExponential:
    """With probability shares[i] an exponential time of mean means[i]."""

    shares: tuple[float, ...]
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        shares("HyperExponential.shares", self.shares)
        if len(self.means) != len(self.shares):
            refuse("HyperExponential.means", self.means, "one mean for each share")
        for place, mean in enumerate(self.means):
            positive(f"HyperExponential.means[{place}]", mean)

    @property
    def mean(self) -> float:
        return math.fsum(share * mean for share, mean in zip(self.shares, self.means, strict=True))

    @property
    def scv(self) -> float:
        pairs = zip(self.shares, self.means, strict=True)
        return 2.0 * math.fsum(share * mean**2 for share, mean in pairs) / self.mean**2 - 1.0


@dataclass(frozen=True, slots=True)
class Empirical:
    """One of the observed values, each as likely as the others."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(sorted(map(float, self.values))))
        if not self.values:
            refuse("Empirical.values", self.values, "at least one value")
        for value in self.values:
            not_negative("Empirical.values", value)

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values)

    @property
    def scv(self) -> float:
        mean = self.mean
        if mean == 0:
            return 0.0
        return math.fsum((value - mean) ** 2 for value in self.values) / len(self.values) / mean**2


Distribution: TypeAlias = (
    Exponential | Deterministic | Erlang | Gamma | HyperExponential | Empirical
)


def by_moments(mean: float, scv: float) -> Distribution:
    """A distribution with this mean and squared coefficient of variation.

    Beyond 1 it is hyper-exponential of two phases with balanced means, below 1 a gamma.
    """
    positive("mean", mean)
    not_negative("scv", scv)
    if scv == 0:
        return Deterministic(mean)
    if scv == 1:
        return Exponential(mean)
    if scv < 1:
        return Gamma(mean, scv)
    share = (1.0 + math.sqrt((scv - 1.0) / (scv + 1.0))) / 2.0
    return HyperExponential((share, 1.0 - share), (mean / (2 * share), mean / (2 * (1 - share))))
