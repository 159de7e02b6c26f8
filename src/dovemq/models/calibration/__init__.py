"""Parameters of models from observations: estimates with intervals, fits, drift.

    from dovemq.models.calibration import TimeSample, fits, rate_of, scv_of

    services = TimeSample.of_values([10_240, 9_870, 31_002, …])     # whole microseconds
    rate_of(services)            # Parameter(value, low, high, samples): per second
    fits(services)[0]            # the best by AIC

Needs numpy and scipy.
"""

from dovemq.models.calibration.drift import Drift as Drift
from dovemq.models.calibration.drift import drift_of as drift_of
from dovemq.models.calibration.fits import DistributionFit as DistributionFit
from dovemq.models.calibration.fits import fits as fits
from dovemq.models.calibration.intervals import known as known
from dovemq.models.calibration.intervals import mean_of as mean_of
from dovemq.models.calibration.intervals import rate_of as rate_of
from dovemq.models.calibration.intervals import scv_of as scv_of
from dovemq.models.calibration.intervals import share_of as share_of
from dovemq.models.calibration.samples import TimeSample as TimeSample
