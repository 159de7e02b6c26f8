"""Quantiles of the delivery time of `vma`, by the transform of its parts.

A message passes the sender, M/M/n1, and the link; it waits at the broker, and is got until a get
succeeds. The parts are taken as independent, and waits that are not 0 as exponential:

- With failures that are known at once and no link delay, the thread of a failed get takes the same
  message again, since that is before all others. The broker is M/M/n2 with services of rate q·μ2,
  and the result is exact (two stations in tandem: Burke 1969).
- Otherwise a message that is visible again waits as the urgent class of two (Cobham 1954), and a
  first get as the other class. A failed get takes its service and the link, or with timers the
  visibility timeout.

docs/explanation/models.md has the measured errors.
"""

from dataclasses import dataclass

import numpy as np

from dovemq.models import checks
from dovemq.models.analytic.inversion import quantile_of
from dovemq.models.analytic.station import MarkovStation, mmc, sojourn_transform
from dovemq.models.analytic.vma import VmaMeasures
from dovemq.models.distributions import Complex
from dovemq.models.vma.parameters import VmaParameters


def delivery_quantile(model: VmaParameters, known: VmaMeasures, level: float) -> float:
    """Returns the quantile of one configuration; `known` are its figures. Infinite if unstable."""
    checks.level(level)
    if not bool(known.stable):
        return float("inf")
    return quantile_of(_Delivery.of(model, known).transform, level, float(known.delivery_time))


def has_exact_quantiles(model: VmaParameters) -> bool:
    endless = np.isinf(np.asarray(model.gets_max, dtype=float)).all()
    instant = model.failure == "ideal" and not np.asarray(model.link_delay).any()
    return bool(instant and (endless or (np.asarray(model.reliability) == 1.0).all()))


@dataclass(frozen=True, slots=True)
class _Delivery:
    """`failed` is the share of gets that fail; `lasting` how long such a get lasts, None: as any.

    `first` and `again` are means of waits that are not 0.
    """

    sender: MarkovStation
    service_rate: float
    link_delay: float
    lasting: float | None
    failed: float
    gets_max: float
    waits: float
    first: float
    again: float

    @classmethod
    def of(cls, model: VmaParameters, known: VmaMeasures) -> "_Delivery":
        speed, most = float(model.broker_rate), float(model.gets_max)
        endless = np.isinf(most)
        failed = 1.0 - (1.0 / float(known.gets) if endless else float(model.reliability))
        lasting = float(model.visibility_timeout) if model.failure == "timer" else None
        if has_exact_quantiles(model):
            alone = mmc(model.arrival_rate, speed * (1.0 - failed), model.broker_threads)
            decay = float(alone.servers * alone.service_rate - alone.arrival_rate)
            waits, first = float(alone.wait_probability), 1.0 / decay
            return cls(known.sender, speed, 0.0, None, failed, most, waits, first, 0.0)
        capacity = float(known.broker.servers) * speed
        urgent = float(model.arrival_rate) * (float(known.gets) - 1.0) / capacity
        again = 1.0 / (capacity * (1.0 - urgent))
        first = again / (1.0 - float(known.broker.utilisation))
        waits = float(known.broker.wait_probability)
        delay = float(model.link_delay)
        return cls(known.sender, speed, delay, lasting, failed, most, waits, first, again)

    def transform(self, s: Complex) -> Complex:
        """Returns E[exp(−sT)] from production to delivery, or to giving up."""
        link = np.exp(-self.link_delay * s)
        served = link / (1.0 + s / self.service_rate)
        lost = served if self.lasting is None else np.exp(-self.lasting * s)
        repeated = self.failed * lost * self._waited(self.again, s)
        if np.isinf(self.gets_max):
            got = (1.0 - self.failed) * served / (1.0 - repeated)
        else:
            # All gets but the last go on after a failure; the last ends either way.
            before = repeated ** (self.gets_max - 1.0)
            got = (1.0 - self.failed) * served * (1.0 - before * repeated) / (1.0 - repeated)
            got = got + before * self.failed * lost
        sent = sojourn_transform(self.sender, s) * link
        return np.asarray(sent * self._waited(self.first, s) * got)

    def _waited(self, mean: float, s: Complex) -> Complex:
        return np.asarray(1.0 - self.waits + self.waits / (1.0 + mean * s))
