"""Predictions for a queue of a running server, by closed forms that need only `math`.

A server predicts while it serves: it has no numpy, and must not pay for importing one. The figures
are those of `analytic/percentiles.py` (GI/G/m), except that the measured service times stand for
their distribution. Tests compare the two.
"""

from dovemq.models.live.estimating import SAMPLES_MIN as SAMPLES_MIN
from dovemq.models.live.estimating import LiveFigure as LiveFigure
from dovemq.models.live.estimating import known_figure as known_figure
from dovemq.models.live.estimating import quantile as quantile
from dovemq.models.live.forecast import SERVERS_MAX as SERVERS_MAX
from dovemq.models.live.forecast import CurvePoint as CurvePoint
from dovemq.models.live.forecast import Forecast as Forecast
from dovemq.models.live.forecast import LiveCalibration as LiveCalibration
from dovemq.models.live.forecast import Scenario as Scenario
from dovemq.models.live.forecast import calibrated as calibrated
from dovemq.models.live.forecast import curve as curve
from dovemq.models.live.forecast import forecast as forecast
from dovemq.models.live.forecast import saturation as saturation
from dovemq.models.live.forecast import servers_for as servers_for
