"""The distribution that fits observed times best, by Akaike's criterion.

Each is fitted by maximum likelihood: exponential and gamma in closed form but for the shape's
equation, Erlang by the whole stages beside that shape, hyper-exponential of two phases by
expectation and maximisation. A constant has no density to compare: it is the fit if all times are
equal, and otherwise no candidate. Times below the resolution of the clock count as half of it.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import digamma, gammainc, gammaln, polygamma

from dovemq.models.calibration.samples import BELOW_US, SECOND_US, TimeSample, Whole
from dovemq.models.checks import Floats
from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    by_moments,
)

STAGES_COMPARED_MAX: Final = 20
"""Erlang of more stages is practically a gamma distribution. Up to here the number of stages is a
choice among few and not counted as a parameter; otherwise Erlang could never win."""
NEWTON_STEPS_MAX: Final = 50
MAXIMISATIONS_MAX: Final = 300
GAIN_MIN: Final = 1e-4
"""The search for phases ends when the log-likelihood gains less than this."""
SHARE_MIN: Final = 1e-9


@dataclass(frozen=True, slots=True)
class DistributionFit:
    """A fitted distribution, times in seconds. `distance` is Kolmogorov's, to judge the fit."""

    name: str
    distribution: Distribution
    parameters: int
    log_likelihood: float
    distance: float

    @property
    def aic(self) -> float:
        return 2.0 * (self.parameters - self.log_likelihood)


def fits(sample: TimeSample) -> tuple[DistributionFit, ...]:
    """Returns the fits, the best first; none if there are no times, or all are 0."""
    if not sample.total_us:
        return ()
    times = np.maximum(sample.means_us, BELOW_US) / SECOND_US
    if len(times) == 1:
        return (DistributionFit("deterministic", Deterministic(float(times[0])), 1, math.inf, 0.0),)
    weights = sample.counts / sample.size
    mean = float(weights @ times)
    shape = _gamma_shape(mean, float(weights @ np.log(times)))
    candidates: list[tuple[str, Distribution, int]] = [
        ("exponential", Exponential(mean), 1),
        ("gamma", Gamma(mean, 1.0 / shape), 2),
    ]
    stages = {math.floor(shape), math.ceil(shape)} - {0, 1}
    candidates += [("erlang", Erlang(mean, k), 1) for k in stages if k <= STAGES_COMPARED_MAX]
    scv = float(weights @ (times - mean) ** 2) / mean**2
    if scv > 1.0:
        candidates.append(("hyperexponential", _phases(times, sample.counts, mean, scv), 3))
    found = (_fit(*each, sample, times) for each in candidates)
    return tuple(sorted(found, key=lambda each: each.aic))


def _fit(
    name: str, distribution: Distribution, parameters: int, sample: TimeSample, times: Floats
) -> DistributionFit:
    likelihood = float(sample.counts @ _log_density(distribution, times))
    below = np.cumsum(sample.counts) / sample.size
    expected = _cumulated(distribution, sample.edges_us / SECOND_US)
    distance = float(np.max(np.abs(below - expected)))
    return DistributionFit(name, distribution, parameters, likelihood, distance)


def _gamma_shape(mean: float, mean_log: float) -> float:
    """Solves log k − ψ(k) = log m − mean log by Newton's method, started as in Minka (2002)."""
    gap = math.log(mean) - mean_log
    shape = (3.0 - gap + math.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(NEWTON_STEPS_MAX):
        wrong = math.log(shape) - float(digamma(shape)) - gap
        slope = 1.0 / shape - float(polygamma(1, shape))
        step = wrong / slope
        shape = shape - step if step < shape else shape / 2.0
        if abs(step) <= 1e-12 * shape:
            break
    return shape


def _phases(times: Floats, counts: Whole, mean: float, scv: float) -> HyperExponential:
    start = by_moments(mean, scv)
    assert isinstance(start, HyperExponential)
    shares, means = np.array(start.shares), np.array(start.means)
    last = -math.inf
    for _ in range(MAXIMISATIONS_MAX):
        densities = shares / means * np.exp(-times[:, None] / means)
        together = np.maximum(densities.sum(1), np.finfo(float).tiny)
        reached = float(counts @ np.log(together))
        if reached - last < GAIN_MIN:
            break
        last = reached
        parts = counts[:, None] * densities / together[:, None]
        sizes = np.maximum(parts.sum(0), SHARE_MIN)
        means = parts.T @ times / sizes
        shares = sizes / sizes.sum()
    return HyperExponential(
        (float(shares[0]), 1.0 - float(shares[0])), (float(means[0]), float(means[1]))
    )


def _log_density(distribution: Distribution, times: Floats) -> Floats:
    if isinstance(distribution, HyperExponential):
        shares, means = np.array(distribution.shares), np.array(distribution.means)
        densities = (shares / means * np.exp(-times[:, None] / means)).sum(1)
        logs: Floats = np.log(np.maximum(densities, np.finfo(float).tiny))
        return logs
    shape, mean = 1.0 / distribution.scv, distribution.mean
    relative = times / mean
    found: Floats = (
        shape * math.log(shape)
        - math.log(mean)
        - float(gammaln(shape))
        + (shape - 1.0) * np.log(relative)
        - shape * relative
    )
    return found


def _cumulated(distribution: Distribution, times: Floats) -> Floats:
    if isinstance(distribution, HyperExponential):
        shares, means = np.array(distribution.shares), np.array(distribution.means)
        below: Floats = 1.0 - (shares * np.exp(-times[:, None] / means)).sum(1)
        return below
    shape = 1.0 / distribution.scv
    share: Floats = gammainc(shape, shape * times / distribution.mean)
    return share
