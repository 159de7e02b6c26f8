"""What `loop` runs: the real service in two cases, each calibrated and measured at several loads.

In one case consumers work for a drawn time on what they receive, and the queue before them is
GI/G/m. In the other the front end itself is the server: it joins sends into commits, so that its
speed depends on how many it has in hand, and that is how it is modelled. Since the speed of a
machine changes within minutes, all is run in rounds, and again when other machines on the same
hardware took time from it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import numpy as np

from dovemq.experiments.service_runs import Service, service
from dovemq.load.plan import Pauses
from dovemq.models.analytic import arrival_rate_at, ggm, load_dependent
from dovemq.models.calibration import CONFIDENCE, known
from dovemq.models.simulation.estimates import Estimate
from dovemq.pipeline.calibration.periods import Period, Traced

CONSUMERS: Final = 8
WORK_MS: Final = 20
SENDERS: Final = 8
FRONT_END_SENDERS: Final = 64
FRONT_END_BATCH: Final = 10
"""So much work for the front end that its clients, on the same machine, have less of it."""
BODY_BYTES: Final = 256
PILOT: Final = -1
"""The round before the first."""
WARM_UP_SHARE: Final = 0.1
CALIBRATED_SHARE: Final = 0.25
"""Of what follows the warm-up; the rest is measured."""
RATES_MAX: Final = 1_000
"""So many numbers of requests in hand have a rate of their own."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Seconds of each round; those of cases by load, at high load the longer ones."""

    consumers: Mapping[float, float]
    front_end: Mapping[float, float]
    pilot: float
    closed: float
    consumers_rounds: int
    rounds: int
    populations: tuple[int, ...] = (1, 2, 4, 8, 16)


FULL: Final = Scale(
    consumers={0.5: 16.0, 0.7: 30.0, 0.85: 140.0},
    front_end={0.5: 3.0, 0.7: 4.0, 0.85: 8.0},
    pilot=10.0,
    closed=1.0,
    consumers_rounds=10,
    rounds=40,
)
QUICK: Final = Scale(
    consumers={0.5: 2.0, 0.7: 4.0, 0.85: 10.0},
    front_end={0.5: 2.0, 0.7: 2.0, 0.85: 2.0},
    pilot=3.0,
    closed=1.0,
    consumers_rounds=2,
    rounds=2,
)


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


def consumers(seed: int, scale: Scale) -> list[Point]:
    """The load is of what the consumers could do in a pilot run, delays and all."""
    with service() as server:
        _work(server, "pilot", seed, 0.5 * CONSUMERS * 1_000 / WORK_MS, scale.pilot)
        server.stop()
        pilot = server.traced("pilot")
        queue = pilot.calibrated(pilot.sending(0.0)).queues[0]
        capacity = CONSUMERS * known(queue.service_rate, "service_rate").value
        server.start()
        for number in range(scale.consumers_rounds):
            for load, seconds in scale.consumers.items():
                _work(server, _name(load, number), seed + number, load * capacity, seconds)
        server.stop()
        return [_consumed(server, load, scale) for load in scale.consumers]


def _name(load: float, number: int) -> str:
    return f"load-{100 * load:.0f}-{number}"


def _work(server: Service, name: str, seed: int, rate: float, seconds: float) -> None:
    server.load(
        name,
        seed=seed,
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


def _consumed(server: Service, load: float, scale: Scale) -> Point:
    queues, means = [], []
    rounds = [_name(load, number) for number in range(scale.consumers_rounds)]
    for traced in map(server.traced, server.quiet(rounds)):
        first, rest = _parts(traced, scale.consumers[load])
        queues.append(traced.calibrated(first).queues[0])
        means.append(traced.sojourn(rest))
    rate = fmean(known(queue.arrivals.rate, "arrival_rate").value for queue in queues)
    station = ggm(
        rate,
        fmean(known(queue.arrivals.scv, "arrival_scv").value for queue in queues),
        fmean(known(queue.service_rate, "service_rate").value for queue in queues),
        fmean(known(queue.service_scv, "service_scv").value for queue in queues),
        max(queue.consumers for queue in queues),
    )
    # What a consumer does after the settle keeps it busy, but is no time of the message.
    work = fmean(known(queue.work, "work").value for queue in queues)
    return Point(
        "consumers",
        load,
        float(station.utilisation),
        rate,
        float(station.waiting_time) + work,
        Estimate(tuple(means), CONFIDENCE),
    )


def _parts(traced: Traced, seconds: float) -> tuple[Period, Period]:
    """To calibrate from, and to measure."""
    return traced.sending(WARM_UP_SHARE * seconds).split(CALIBRATED_SHARE)


def front_end(seed: int, scale: Scale) -> list[Point]:
    """The load is the share of time in which it has something in hand."""
    with service() as server:
        _closed_loops(server, seed, scale, PILOT)
        server.stop()
        rates = interpolated(_speeds(server, scale, [PILOT]))
        arrivals = {
            load: FRONT_END_BATCH * arrival_rate_at(load, rates) for load in scale.front_end
        }
        server.start()
        for number in range(scale.rounds):
            _closed_loops(server, seed + number, scale, number)
            for load, seconds in scale.front_end.items():
                name = _name(load, number)
                _send(server, name, seed + number, FRONT_END_SENDERS, seconds, arrivals[load])
        server.stop()
        rates = interpolated(_speeds(server, scale, range(scale.rounds)))
        return [_answered(server, load, scale, rates) for load in scale.front_end]


def _closed_loops(server: Service, seed: int, scale: Scale, number: int) -> None:
    for population in scale.populations:
        _send(server, _closed_name(population, number), seed, population, scale.closed, None)


def _closed_name(population: int, number: int) -> str:
    return f"closed-{population}-{number}"


def _speeds(server: Service, scale: Scale, numbers: Iterable[int]) -> list[tuple[float, float]]:
    """How many were in hand and answered a second, by population, as means of rounds."""
    found = []
    for population in scale.populations:
        names = server.quiet([_closed_name(population, number) for number in numbers])
        speeds = [_speed(server.traced(name), scale.closed) for name in names]
        found.append((fmean(number for number, _ in speeds), fmean(rate for _, rate in speeds)))
    return found


def _send(
    server: Service, name: str, seed: int, senders: int, seconds: float, rate: float | None
) -> None:
    server.send(
        name,
        seed=seed,
        senders=senders,
        receivers=1,
        messages=None,
        seconds_max=seconds,
        send_rate=rate,
        send_batch=FRONT_END_BATCH,
        body_bytes=BODY_BYTES,
        plain=True,
    )


def _speed(traced: Traced, seconds: float) -> tuple[float, float]:
    """How many the front end had in hand, on average, and how many it answered a second."""
    period = traced.sending(WARM_UP_SHARE * seconds)
    found = traced.calibrated(period, "event = 'sent'").front_ends[0]
    rate = known(found.request_rate, "request_rate").value
    return rate * known(found.latency.get("sent"), "latency").value, rate


def interpolated(speeds: Sequence[tuple[float, float]]) -> list[float]:
    """Rates for 1, 2, … in hand: on lines between what was measured, from none at all on."""
    points = [(0.0, 0.0), *sorted(speeds)]
    numbers, rates = (np.array(column) for column in zip(*points, strict=True))
    most = min(RATES_MAX, max(1, math.floor(numbers[-1])))
    between: list[float] = np.interp(np.arange(1, most + 1), numbers, rates).tolist()
    return [*between, float(rates[-1])]


def _answered(server: Service, load: float, scale: Scale, rates: Sequence[float]) -> Point:
    calibrations, means = [], []
    rounds = [_name(load, number) for number in range(scale.rounds)]
    for traced in map(server.traced, server.quiet(rounds)):
        first, rest = _parts(traced, scale.front_end[load])
        calibrations.append(traced.calibrated(first, "event = 'sent'").front_ends[0])
        means.append(traced.latency(rest))
    rate = fmean(known(each.request_rate, "request_rate").value for each in calibrations)
    utilisation = fmean(known(each.utilisation, "utilisation").value for each in calibrations)
    measured = Estimate(tuple(means), CONFIDENCE)
    predicted = load_dependent(rate, rates).sojourn_time
    return Point("front end", load, utilisation, rate, predicted, measured)
