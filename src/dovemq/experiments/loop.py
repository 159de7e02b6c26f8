"""loop: traces of the real service calibrate a model, and what it predicts is measured.

Not a figure of a paper: the loop that the product is about. In one case consumers work for a
known time on what they receive, and the queue before them is GI/G/m. In the other the front end
itself is the server: it joins sends into commits, so that its speed depends on how many it has.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dovemq.experiments.figure import Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.service_runs import Service, service
from dovemq.load.plan import Pauses, Phases
from dovemq.models.analytic import ggm, load_dependent
from dovemq.models.calibration import known
from dovemq.models.simulation.estimates import Estimate
from dovemq.pipeline.calibration.parameters import QueueParameters
from dovemq.pipeline.calibration.periods import Period

LOADS: Final = (0.5, 0.7, 0.85)
CONSUMERS: Final = 8
WORK_MS: Final = 20
SECONDS: Final[Mapping[float, float]] = {0.5: 80.0, 0.7: 140.0, 0.85: 400.0}
"""At high load long enough that the mean of half of it is known to 5 %."""
QUICK_SHARE: Final = 0.05
WARM_UP_SHARE: Final = 0.05
PILOT_SECONDS: Final = 10.0
SENDERS: Final = 8
POPULATIONS: Final = (1, 2, 4, 8, 16, 32)
POPULATION_SECONDS: Final = 6.0
FRONT_END_SENDERS: Final = 96
FRONT_END_SECONDS: Final = 40.0
BODY_BYTES: Final = 256
RATES_MAX: Final = 1_000
"""So many numbers of requests in hand have a rate of their own."""
ERROR_MAX: Final = 0.15
HALF_WIDTH_MAX: Final = 0.05


@dataclass(frozen=True, slots=True)
class Point:
    """Seconds; `utilisation` as calibrated."""

    case: str
    load: float
    utilisation: float
    arrival_rate: float
    predicted: float
    measured: Estimate

    @property
    def error(self) -> float:
        return self.predicted / self.measured.mean - 1.0

    @property
    def half_width(self) -> float:
        """Of the measured mean's interval, relative."""
        return self.measured.half_width / self.measured.mean


def predicted_and_measured(effort: Effort) -> Figure:
    share = QUICK_SHARE if effort.quick else 1.0
    points = [*_consumers(effort, share), *_front_end(effort, share)]
    cases = list(dict.fromkeys(point.case for point in points))
    return Figure(
        "Mean sojourn, predicted by a model from traces and measured in the service",
        _columns(points),
        tuple(_panel(case, [each for each in points if each.case == case]) for case in cases),
        tuple(_verdict(point) for point in points),
        (
            "A model is calibrated from one half of a run, and measured in the other.",
            f"{CONSUMERS} consumers work {WORK_MS} ms on average, exponentially; what the model "
            "has is what the trace tells of it, with the consumers' delays.",
            "The front end's speed by number in hand is that of closed loops of "
            f"{', '.join(map(str, POPULATIONS))} senders; the load is of the largest of them.",
        ),
    )


def _consumers(effort: Effort, share: float) -> list[Point]:
    found = []
    with service() as server:
        rate = LOADS[0] * CONSUMERS * 1_000 / WORK_MS
        _worked(server, effort, "pilot", rate, max(3.0, share * PILOT_SECONDS))
        server.stop()
        queue = _first(server, "pilot", server.traced("pilot").sending(0.0))
        capacity = CONSUMERS * known(queue.service_rate, "service_rate").value
        server.start()
        for load in LOADS:
            name = f"load-{100 * load:.0f}"
            _worked(server, effort, name, load * capacity, share * SECONDS[load])
        server.stop()
        for load in LOADS:
            name = f"load-{100 * load:.0f}"
            found.append(_consumed(server, name, load, share * SECONDS[load]))
    return found


def _worked(server: Service, effort: Effort, name: str, rate: float, seconds: float) -> None:
    server.load(
        name,
        seed=effort.seed,
        senders=SENDERS,
        receivers=CONSUMERS,
        messages=None,
        seconds_max=seconds,
        send_rate=rate,
        receive_batch=1,
        receive_pause_ms=WORK_MS,
        receive_pauses=Pauses.EXPONENTIAL,
        body_bytes=BODY_BYTES,
    )


def _first(server: Service, name: str, period: Period) -> QueueParameters:
    return server.traced(name).calibrated(period).queues[0]


def _consumed(server: Service, name: str, load: float, seconds: float) -> Point:
    traced = server.traced(name)
    first, second = traced.sending(WARM_UP_SHARE * seconds).halves()
    queue = traced.calibrated(first).queues[0]
    rate = known(queue.arrivals.rate, "arrival_rate").value
    station = ggm(
        rate,
        known(queue.arrivals.scv, "arrival_scv").value,
        known(queue.service_rate, "service_rate").value,
        known(queue.service_scv, "service_scv").value,
        queue.consumers,
    )
    # What a consumer does after the settle keeps it busy, but is no time of the message.
    predicted = float(station.waiting_time) + known(queue.work, "work").value
    return Point(
        "consumers",
        load,
        float(station.utilisation),
        rate,
        predicted,
        traced.sojourn(second),
    )


def _front_end(effort: Effort, share: float) -> list[Point]:
    speeds = []
    with service() as server:
        seconds = max(2.0, share * POPULATION_SECONDS)
        for population in POPULATIONS:
            _sent(server, effort, f"closed-{population}", population, seconds, None)
        server.stop()
        for population in POPULATIONS:
            speeds.append(_speed(server, f"closed-{population}", seconds))
        capacity = max(rate for _, rate in speeds)
        server.start()
        open_seconds = max(4.0, share * FRONT_END_SECONDS)
        for load in LOADS:
            name = f"open-{100 * load:.0f}"
            _sent(server, effort, name, FRONT_END_SENDERS, open_seconds, load * capacity)
        server.stop()
        rates = _interpolated(speeds)
        return [_answered(server, load, open_seconds, rates) for load in LOADS]


def _sent(
    server: Service,
    effort: Effort,
    name: str,
    senders: int,
    seconds: float,
    rate: float | None,
) -> None:
    """Receivers take the messages away afterwards, and are no part of it."""
    server.load(
        name,
        seed=effort.seed,
        senders=senders,
        receivers=1,
        messages=None,
        seconds_max=seconds,
        send_rate=rate,
        phases=Phases.APART,
        body_bytes=BODY_BYTES,
        plain=True,
    )


def _speed(server: Service, name: str, seconds: float) -> tuple[float, float]:
    """How many the front end had in hand, on average, and how many it answered a second."""
    traced = server.traced(name)
    period = traced.sending(WARM_UP_SHARE * seconds)
    front_end = traced.calibrated(period, "event = 'sent'").front_ends[0]
    rate = known(front_end.request_rate, "request_rate").value
    return rate * known(front_end.latency.get("sent"), "latency").value, rate


def _interpolated(speeds: Sequence[tuple[float, float]]) -> list[float]:
    """Rates for 1, 2, … in hand: on lines between what was measured, from none at all on."""
    known = [(0.0, 0.0), *sorted(speeds)]
    numbers, rates = (np.array(column) for column in zip(*known, strict=True))
    most = min(RATES_MAX, max(1, math.floor(numbers[-1])))
    between: list[float] = np.interp(np.arange(1, most + 1), numbers, rates).tolist()
    return [*between, float(rates[-1])]


def _answered(server: Service, load: float, seconds: float, rates: Sequence[float]) -> Point:
    traced = server.traced(f"open-{100 * load:.0f}")
    first, second = traced.sending(WARM_UP_SHARE * seconds).halves()
    front_end = traced.calibrated(first, "event = 'sent'").front_ends[0]
    rate = known(front_end.request_rate, "request_rate").value
    station = load_dependent(rate, rates)
    return Point(
        "front end",
        load,
        known(front_end.utilisation, "utilisation").value,
        rate,
        station.sojourn_time,
        traced.latency(second),
    )


def _verdict(point: Point) -> Verdict:
    """Nothing is told of a mean that is not known well enough itself."""
    found = (
        f"predicted {1_000 * point.predicted:.4g} ms, measured {1_000 * point.measured.mean:.4g} "
        f"± {point.half_width:.1%}: {point.error:+.1%}; utilisation {point.utilisation:.2f}, "
        f"{point.arrival_rate:.4g} messages/s"
    )
    known = point.half_width <= HALF_WIDTH_MAX
    return Verdict(
        f"{point.case} at {point.load:.0%}: the predicted mean sojourn is within 15 % of the "
        "measured one, whose interval is within 5 %",
        abs(point.error) <= ERROR_MAX if known else None,
        found,
    )


def _columns(points: Sequence[Point]) -> dict[str, list[Any]]:
    parts: dict[str, Callable[[Point], Any]] = {
        "case": lambda point: point.case,
        "load": lambda point: point.load,
        "utilisation": lambda point: point.utilisation,
        "arrival_rate": lambda point: point.arrival_rate,
        "predicted_s": lambda point: _finite(point.predicted),
        "measured_s": lambda point: point.measured.mean,
        "low_s": lambda point: point.measured.low,
        "high_s": lambda point: point.measured.high,
        "error": lambda point: _finite(point.error),
    }
    return {name: [part(point) for point in points] for name, part in parts.items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _panel(case: str, points: Sequence[Point]) -> Panel:
    loads = tuple(point.load for point in points)
    measured = [point.measured for point in points]
    return Panel(
        f"{case}: predicted and measured",
        "load",
        "mean sojourn, ms",
        (
            Curve(
                "measured, 95 %",
                loads,
                tuple(1_000 * each.mean for each in measured),
                tuple(1_000 * each.low for each in measured),
                tuple(1_000 * each.high for each in measured),
            ),
            Curve(
                "predicted", loads, tuple(1_000 * point.predicted for point in points), points=True
            ),
        ),
    )
