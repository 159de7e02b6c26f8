"""Arrivals that are more than independent times: rates that change, states, and batches.

`RateSteps` are Poisson arrivals whose rate follows the clock, `ModulatedPoisson` those whose rate
follows a hidden Markov chain (MMPP), `Batches` put several jobs at each time of a process. Each has
the mean time between jobs as `mean`. Its `scv` is the limit of the variance of the number of
arrivals over its mean, which is the scv where the times are independent. Only simulations know
these processes; `simulation/arriving.py` draws from them.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.distributions import Distribution, Empirical, HyperExponential
from dovemq.models.errors import ModelParameterInvalid

STEPS_MAX: Final = 10_000
STATES_MAX: Final = 100
PEAK_MAX: Final = 1e4
"""The most that the largest rate may be above the mean; thinning draws as many candidates."""
BATCH_MAX: Final = 1e6
Sizes: TypeAlias = Literal["fixed", "geometric"]


@dataclass(frozen=True, slots=True)
class RateSteps:
    """The rate is rates[i] for lengths[i], and the cycle repeats; time 0 is its start.

    If `linear`, the rate goes evenly from rates[i] to rates[i + 1] instead, and from the last to
    the first.
    """

    rates: tuple[float, ...]
    lengths: tuple[float, ...]
    linear: bool = False
    scv: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        checks.not_negative(self.rates, "RateSteps.rates")
        checks.positive(self.lengths, "RateSteps.lengths")
        if not 1 <= len(self.rates) <= STEPS_MAX or len(self.rates) != len(self.lengths):
            found = f"{len(self.rates)} rates, {len(self.lengths)} lengths"
            needed = f"one length for each rate, 1 to {STEPS_MAX:,} of them,"
            raise ModelParameterInvalid("RateSteps", found, needed)
        if not max(self.rates) > 0.0:
            raise ModelParameterInvalid("RateSteps.rates", self.rates, "one rate above 0")
        if max(self.rates) * self.mean > PEAK_MAX:
            needed = f"a largest rate of at most {PEAK_MAX:g} times the mean"
            raise ModelParameterInvalid("RateSteps.rates", f"{max(self.rates):g}", needed)

    @property
    def cycle(self) -> float:
        return math.fsum(self.lengths)

    @property
    def mean(self) -> float:
        ends = (*self.rates[1:], self.rates[0]) if self.linear else self.rates
        means = (0.5 * (one + other) for one, other in zip(self.rates, ends, strict=True))
        area = math.fsum(m * length for m, length in zip(means, self.lengths, strict=True))
        return self.cycle / area


@dataclass(frozen=True)
class ModulatedPoisson:
    """Arrivals have rates[i] in state i, and state i turns into j with the rate switching[i][j].

    Every state must be reachable from every other. The chain starts in a state drawn from its
    long-run shares.
    """

    rates: tuple[float, ...]
    switching: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        states = len(self.rates)
        checks.not_negative(self.rates, "ModulatedPoisson.rates")
        if (
            not 2 <= states <= STATES_MAX
            or [len(row) for row in self.switching] != [states] * states
        ):
            needed = f"a square of switching rates, for 2 to {STATES_MAX} states,"
            raise ModelParameterInvalid("ModulatedPoisson.switching", self.switching, needed)
        checks.not_negative(self.switching, "ModulatedPoisson.switching")
        if not max(self.rates) > 0.0:
            raise ModelParameterInvalid("ModulatedPoisson.rates", self.rates, "one rate above 0")
        if not _all_reached(self._moves):
            needed = "rates by which every state leads to every other"
            raise ModelParameterInvalid("ModulatedPoisson.switching", self.switching, needed)
        leaving = self._moves.sum(1)
        if max(self.rates) * self.mean > PEAK_MAX or leaving.max() * self.mean > PEAK_MAX:
            needed = f"rates of at most {PEAK_MAX:g} times the mean rate of arrivals"
            raise ModelParameterInvalid(
                "ModulatedPoisson", f"a mean rate of {1 / self.mean:g}", needed
            )

    @cached_property
    def _moves(self) -> Floats:
        moves = np.array(self.switching, dtype=np.float64)
        np.fill_diagonal(moves, 0.0)
        return moves

    @cached_property
    def state_shares(self) -> tuple[float, ...]:
        """The share of the time in each state, in the long run."""
        generator = self._moves - np.diag(self._moves.sum(1))
        balance = np.vstack((generator.T, np.ones(len(self.rates))))
        wanted = np.zeros(len(self.rates) + 1)
        wanted[-1] = 1.0
        found = np.linalg.lstsq(balance, wanted, rcond=None)[0]
        return tuple(np.maximum(found, 0.0).tolist())

    @property
    def mean(self) -> float:
        shares = zip(self.state_shares, self.rates, strict=True)
        return 1.0 / math.fsum(share * rate for share, rate in shares)

    @property
    def scv(self) -> float:
        """1 + 2/λ · πΛDΛ1, where D is the deviation matrix of the chain."""
        shares, rates = np.array(self.state_shares), np.array(self.rates)
        generator = self._moves - np.diag(self._moves.sum(1))
        always = np.tile(shares, (len(rates), 1))
        deviation = np.linalg.inv(always - generator) - always
        return float(1.0 + 2.0 * self.mean * (shares * rates) @ deviation @ rates)


@dataclass(frozen=True, slots=True)
class Batches:
    """A batch of jobs arrives at each time of a process: `size_mean` jobs, or as many in the mean.

    Geometric sizes are 1, 2, 3, …; fixed ones are whole.
    """

    times: "Distribution | RateSteps | ModulatedPoisson"
    size_mean: float
    sizes: Sizes = "fixed"

    def __post_init__(self) -> None:
        if self.sizes not in ("fixed", "geometric"):
            raise ModelParameterInvalid("Batches.sizes", repr(self.sizes), "'fixed' or 'geometric'")
        if self.sizes == "fixed":
            checks.whole(self.size_mean, "Batches.size_mean", 1, int(BATCH_MAX))
        checks.between(self.size_mean, "Batches.size_mean", 1, BATCH_MAX)
        if isinstance(self.times, Batches):
            raise ModelParameterInvalid("Batches.times", "batches", "a process of single arrivals")

    @property
    def mean(self) -> float:
        return self.times.mean / self.size_mean

    @property
    def scv(self) -> float:
        variance = 0.0 if self.sizes == "fixed" else self.size_mean * (self.size_mean - 1.0)
        return self.size_mean * self.times.scv + variance / self.size_mean


Arrivals: TypeAlias = Distribution | RateSteps | ModulatedPoisson | Batches


def at_rate(arrivals: Arrivals, factor: float) -> Arrivals:
    """Returns the same arrivals with every rate of them multiplied by the factor.

    The clock and the states of a process stay as they are.
    """
    match arrivals:
        case RateSteps(rates=rates) | ModulatedPoisson(rates=rates):
            return replace(arrivals, rates=tuple(factor * rate for rate in rates))
        case Batches(times=times):
            scaled = at_rate(times, factor)
            assert not isinstance(scaled, Batches)
            return replace(arrivals, times=scaled)
        case HyperExponential(means=means):
            return replace(arrivals, means=tuple(mean / factor for mean in means))
        case Empirical(values=values):
            return replace(arrivals, values=tuple(value / factor for value in values))
        case _:
            return replace(arrivals, mean=arrivals.mean / factor)


def cycle_of(arrivals: Arrivals | None) -> float:
    """Returns the length of the cycle of a rate that follows the clock; 0 if there is none."""
    if isinstance(arrivals, Batches):
        return cycle_of(arrivals.times)
    return arrivals.cycle if isinstance(arrivals, RateSteps) else 0.0


def _all_reached(moves: Floats) -> bool:
    links = (moves > 0.0) | np.eye(len(moves), dtype=bool)
    for _ in range(len(moves)):
        links = links | (links.astype(int) @ links.astype(int) > 0)
    return bool(links.all())
