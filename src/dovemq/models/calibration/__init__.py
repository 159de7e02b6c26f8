"""Parameters of models from what was observed: estimates with intervals, fits, drift.

    from dovemq.models.calibration import Sample, fits, rate_of, scv_of

    services = Sample.of_values([10_240, 9_870, 31_002, …])     # whole microseconds
    rate_of(services)            # Parameter(value, low, high, samples): per second
    fits(services)[0]            # the best by AIC, of the distributions that the simulator knows

Needs numpy and scipy.
"""

from dovemq.models.calibration.drift import Drift, drift_of
from dovemq.models.calibration.fits import Fit, fits
from dovemq.models.calibration.intervals import (
    CONFIDENCE,
    Parameter,
    known,
    mean_of,
    rate_of,
    scv_of,
    share_of,
)
from dovemq.models.calibration.samples import Sample

__all__ = [
    "CONFIDENCE",
    "Drift",
    "Fit",
    "Parameter",
    "Sample",
    "drift_of",
    "fits",
    "known",
    "mean_of",
    "rate_of",
    "scv_of",
    "share_of",
]
