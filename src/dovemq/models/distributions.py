"""The distributions of times that all models share: means, moments and Laplace transforms.

Times are never negative and have the unit of time of the model. `scv` is the squared coefficient
of variation. `simulation/sampling.py` draws from these distributions.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovemq.models import checks
from dovemq.models.errors import ModelParameterInvalid

STAGES_MAX: Final = 1_000_000
SCV_MIN: Final = 1e-9
"""Times that vary less are taken as constant."""
WEIBULL_SHAPE_MIN: Final = 0.1
"""A smaller shape has an scv above 180,000, which no run can estimate."""
WEIBULL_SHAPE_MAX: Final = 1_000.0
PARETO_SHAPE_MAX: Final = 1e6

Complex: TypeAlias = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Exponential:
    mean: float
    scv: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        checks.positive(self.mean, "Exponential.mean")


@dataclass(frozen=True, slots=True)
class Deterministic:
    mean: float
    scv: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        checks.not_negative(self.mean, "Deterministic.mean")


@dataclass(frozen=True, slots=True)
class Erlang:
    """The sum of `stages` exponential times of equal mean."""

    mean: float
    stages: int

    def __post_init__(self) -> None:
        checks.positive(self.mean, "Erlang.mean")
        checks.whole(self.stages, "Erlang.stages", 1, STAGES_MAX)

    @property
    def scv(self) -> float:
        return 1.0 / self.stages


@dataclass(frozen=True, slots=True)
class Gamma:
    mean: float
    scv: float

    def __post_init__(self) -> None:
        checks.positive(self.mean, "Gamma.mean")
        checks.positive(self.scv, "Gamma.scv")


@dataclass(frozen=True, slots=True)
class HyperExponential:
    """A time is exponential of mean means[i] with probability shares[i]."""

    shares: tuple[float, ...]
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        checks.shares(self.shares, "HyperExponential")
        checks.positive(self.means, "HyperExponential.means")
        if len(self.means) != len(self.shares):
            raise ModelParameterInvalid(
                "HyperExponential.means", self.means, "one mean for each share"
            )

    @property
    def mean(self) -> float:
        return math.fsum(share * mean for share, mean in zip(self.shares, self.means, strict=True))

    @property
    def scv(self) -> float:
        return moments(self)[1] / self.mean**2 - 1.0


@dataclass(frozen=True, slots=True)
class Empirical:
    """One of the observed values, each with the same probability."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ModelParameterInvalid("Empirical.values", self.values, "at least one value")
        checks.not_negative(self.values, "Empirical.values")
        object.__setattr__(self, "values", tuple(sorted(map(float, self.values))))

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values)

    @property
    def scv(self) -> float:
        mean = self.mean
        if mean == 0:
            return 0.0
        return math.fsum((value - mean) ** 2 for value in self.values) / len(self.values) / mean**2


@dataclass(frozen=True, slots=True)
class LogNormal:
    """A time whose logarithm is normal."""

    mean: float
    scv: float

    def __post_init__(self) -> None:
        checks.positive(self.mean, "LogNormal.mean")
        checks.positive(self.scv, "LogNormal.scv")

    @property
    def spread(self) -> float:
        """The standard deviation of the logarithm."""
        return math.sqrt(math.log1p(self.scv))

    @property
    def median(self) -> float:
        return self.mean / math.sqrt(1.0 + self.scv)


@dataclass(frozen=True, slots=True)
class Weibull:
    """A time with P(S > t) = exp(−(t/scale)^shape); a shape of 1 is exponential."""

    mean: float
    shape: float

    def __post_init__(self) -> None:
        checks.positive(self.mean, "Weibull.mean")
        checks.between(self.shape, "Weibull.shape", WEIBULL_SHAPE_MIN, WEIBULL_SHAPE_MAX)

    @property
    def scale(self) -> float:
        return self.mean / math.gamma(1.0 + 1.0 / self.shape)

    @property
    def scv(self) -> float:
        logs = math.lgamma(1.0 + 2.0 / self.shape) - 2.0 * math.lgamma(1.0 + 1.0 / self.shape)
        return math.expm1(logs)


@dataclass(frozen=True, slots=True)
class Pareto:
    """A time with P(S > t) = (least/t)^shape from `least` on.

    A shape of 2 or less is refused: its variance is infinite, and so is the mean wait of a queue
    with such services. Up to 3 the third moment is infinite, and with it the variance of the wait.
    """

    mean: float
    shape: float

    def __post_init__(self) -> None:
        checks.positive(self.mean, "Pareto.mean")
        needed = f"a number above 2, at most {PARETO_SHAPE_MAX:g}, so that the variance is finite,"
        if not 2.0 < float(checks.positive(self.shape, "Pareto.shape")) <= PARETO_SHAPE_MAX:
            raise ModelParameterInvalid("Pareto.shape", f"{self.shape:g}", needed)

    @property
    def least(self) -> float:
        return self.mean * (self.shape - 1.0) / self.shape

    @property
    def scv(self) -> float:
        return 1.0 / (self.shape * (self.shape - 2.0))


Distribution: TypeAlias = (
    Exponential
    | Deterministic
    | Erlang
    | Gamma
    | HyperExponential
    | LogNormal
    | Weibull
    | Pareto
    | Empirical
)


def by_moments(mean: float, scv: float) -> Distribution:
    """Returns a distribution with this mean and squared coefficient of variation.

    Above 1 it is hyper-exponential of two phases with balanced means (Whitt 1982), below 1 a gamma
    distribution, and below `SCV_MIN` a constant.
    """
    checks.positive(mean, "mean")
    checks.not_negative(scv, "scv")
    if scv < SCV_MIN:
        return Deterministic(mean)
    if scv == 1:
        return Exponential(mean)
    if scv < 1:
        return Gamma(mean, scv)
    share = (1.0 + math.sqrt((scv - 1.0) / (scv + 1.0))) / 2.0
    return HyperExponential((share, 1.0 - share), (mean / (2 * share), mean / (2 * (1 - share))))


def moments(times: Distribution) -> tuple[float, float, float]:
    """Returns E[S], E[S²] and E[S³]; the last is infinite for a Pareto shape of 3 or less."""
    match times:
        case LogNormal(mean, scv):
            return mean, mean**2 * (1.0 + scv), mean**3 * (1.0 + scv) ** 3
        case Weibull(shape=shape):
            first, second, third = (
                times.scale**power * math.gamma(1.0 + power / shape) for power in (1, 2, 3)
            )
            return first, second, third
        case Pareto(shape=shape):
            first, second, third = (
                shape * times.least**power / (shape - power) if shape > power else math.inf
                for power in (1, 2, 3)
            )
            return first, second, third
        case HyperExponential(shares, means):
            first, second, third = (
                math.factorial(power)
                * math.fsum(share * mean**power for share, mean in zip(shares, means, strict=True))
                for power in (1, 2, 3)
            )
            return first, second, third
        case Empirical(values):
            first, second, third = (
                math.fsum(value**power for value in values) / len(values) for power in (1, 2, 3)
            )
            return first, second, third
        case _:
            mean, scale = times.mean, times.mean * times.scv
            return mean, mean * (mean + scale), mean * (mean + scale) * (mean + 2.0 * scale)


def transform(times: Distribution, s: Complex) -> Complex:
    """Returns the Laplace–Stieltjes transform E[exp(−sS)], where it has a closed form."""
    match times:
        case LogNormal() | Weibull() | Pareto():
            name = type(times).__name__
            raise ModelParameterInvalid("service", name, "a distribution with a known transform")
        case Deterministic(mean):
            return np.asarray(np.exp(-mean * s))
        case HyperExponential(shares, means):
            branches = zip(shares, means, strict=True)
            return np.asarray(sum(share / (1.0 + mean * s) for share, mean in branches))
        case Empirical(values):
            return np.asarray(np.mean(np.exp(-np.multiply.outer(values, s)), axis=0))
        case _:
            # The power (1 + mean·scv·s)^(−1/scv), without loss of digits for a small scv.
            return np.asarray(np.exp(-np.log1p(times.mean * times.scv * s) / times.scv))
