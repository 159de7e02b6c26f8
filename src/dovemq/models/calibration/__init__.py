"""Parameters of models from observations: estimates with intervals, fits, drift.

    from dovemq.models.calibration import TimeSample, fits, rate_of, scv_of

    services = TimeSample.of_values([10_240, 9_870, 31_002, …])     # whole microseconds
    rate_of(services)            # Parameter(value, low, high, samples): per second
    fits(services)[0]            # the best by AIC

Needs numpy and scipy.
"""

from dovemq.models.calibration.drift import Drift, drift_of
from dovemq.models.calibration.fits import DistributionFit, fits
from dovemq.models.calibration.intervals import (
    known,
    mean_of,
    rate_of,
    scv_of,
    share_of,
)
from dovemq.models.calibration.samples import TimeSample

__all__ = [
    "DistributionFit",
    "Drift",
    "TimeSample",
    "drift_of",
    "fits",
    "known",
    "mean_of",
    "rate_of",
    "scv_of",
    "share_of",
]
