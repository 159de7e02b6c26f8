"""Estimates with confidence intervals: rates, squared coefficients of variation, shares.

Rates and scv are estimated on the scale of their logarithm. What one observation moves there is
its influence; the mean of the squared influences gives the error, and their skewness the
transformation of Hall (1992) that makes the ratio of the estimate to its error symmetric: times
are skew, and plain intervals of an scv miss too often. Observations are taken as independent: for
arrivals that is a renewal process. Shares have the interval of Wilson (1927).
"""

import math
from typing import Final

import numpy as np
from scipy.special import ndtri

from dovemq.models.calibration.samples import SECOND_US, TimeSample
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.estimates import CONFIDENCE, Parameter, t_quantile

SAMPLES_MIN: Final = 10
"""Fewer observations give no interval."""


def known(parameter: Parameter | None, name: str) -> Parameter:
    """Returns the parameter; a missing one is refused."""
    if parameter is None:
        raise ModelParameterInvalid(
            name, "unknown", f"a trace with {SAMPLES_MIN} observations of it"
        )
    return parameter


def mean_of(sample: TimeSample, confidence: float = CONFIDENCE) -> Parameter | None:
    """Estimates the mean in the unit of the sample; None for too few values, or if all are 0."""
    if sample.independent < SAMPLES_MIN or not sample.total_us:
        return None
    mean = sample.total_us / sample.size
    influences = sample.means_us / mean - 1.0
    return _by_influence(math.log(mean), influences, sample, confidence)


def rate_of(sample: TimeSample, confidence: float = CONFIDENCE) -> Parameter | None:
    """Estimates a rate per second from times in microseconds."""
    mean = mean_of(sample, confidence)
    if mean is None:
        return None
    value, low, high = (SECOND_US / each for each in (mean.value, mean.high, mean.low))
    return Parameter(value, low, high, mean.samples, mean.error)


def scv_of(sample: TimeSample, confidence: float = CONFIDENCE) -> Parameter | None:
    size = sample.size
    if sample.independent < SAMPLES_MIN or not sample.total_us:
        return None
    mean = sample.total_us / size
    deviations = sample.means_us - mean
    variance = float(sample.counts @ deviations**2) / size
    if variance == 0.0:
        return Parameter(0.0, 0.0, 0.0, sample.independent, 0.0)
    influences = deviations**2 / variance - 1.0 - 2.0 * deviations / mean
    scv = variance * sample.independent / (sample.independent - 1) / mean**2
    return _by_influence(math.log(scv), influences, sample, confidence)


def share_of(count: int, total: int, confidence: float = CONFIDENCE) -> Parameter | None:
    if not 0 <= count <= total:
        raise ModelParameterInvalid("count", count, f"a number from 0 to {total}")
    if not total:
        return None
    z = float(ndtri((1.0 + confidence) / 2.0))
    share = count / total
    centre = (share + z * z / (2 * total)) / (1.0 + z * z / total)
    error = math.sqrt(share * (1.0 - share) / total)
    half = z * math.sqrt(error**2 + z * z / (4.0 * total**2)) / (1.0 + z * z / total)
    low = 0.0 if count == 0 else centre - half
    high = 1.0 if count == total else centre + half
    return Parameter(share, low, high, total, error)


def _by_influence(
    logarithm: float, influences: Floats, sample: TimeSample, confidence: float
) -> Parameter:
    size = sample.independent
    square = float(sample.counts @ influences**2) / sample.size * size / (size - 1)
    spread = math.sqrt(square)
    cube = float(sample.counts @ influences**3) / sample.size
    skewness = cube / spread**3 if spread else 0.0
    quantile = t_quantile(confidence, size) / math.sqrt(size)
    low, high = (
        math.exp(logarithm - spread * _untransformed(each, skewness, size))
        for each in (quantile, -quantile)
    )
    return Parameter(math.exp(logarithm), low, high, size, spread / math.sqrt(size))


def _untransformed(value: float, skewness: float, size: int) -> float:
    """Inverts w + sw²/3 + s²w³/27 + s/6n (s: skewness), which is one to one."""
    if abs(skewness) < 1e-6:
        return value
    inside = 1.0 + skewness * (value - skewness / (6.0 * size))
    return 3.0 / skewness * (float(np.cbrt(inside)) - 1.0)
