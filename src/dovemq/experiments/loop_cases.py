"""What `loop` runs: the real service in two cases, each calibrated and measured at several loads.

In one case consumers work for a drawn time on what they receive, and the queue before them is
GI/G/m. In the other the front end itself is the server: it takes all sends that wait into one
commit, and so does its model. Since the speed of a machine changes within minutes, all is run in
rounds, each again when other machines on the same hardware took time from it, until the mean is
known well enough.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Generic, TypeVar

from dovemq.experiments.figure import Tell, tell_nobody
from dovemq.experiments.service_runs import Service, service
from dovemq.load.plan import Pauses
from dovemq.models.analytic import arrival_rate_at, bulk, ggm
from dovemq.models.calibration import known
from dovemq.models.calibration.commits import Commits, commits_of, groups_of
from dovemq.models.estimates import CONFIDENCE, Estimate
from dovemq.pipeline.calibration.parameters import FrontEndParameters, QueueParameters
from dovemq.pipeline.calibration.periods import Traced

CONSUMERS: Final = 8
WORK_MS: Final = 20
SENDERS: Final = 8
FRONT_END_SENDERS: Final = 64
FRONT_END_BATCH: Final = 10
"""So much work for the front end that its clients, on the same machine, have less of it."""
BODY_BYTES: Final = 256
PILOT: Final = "pilot"
PILOTS: Final = 3
CLOSED_SENDERS: Final = 16
SENDS: Final = "event = 'sent'"
UTILISATION_MAX: Final = 0.99
WARM_UP_SHARE: Final = 0.1
CONSUMERS_CALIBRATED: Final = 0.25
FRONT_END_CALIBRATED: Final = 0.5
"""Of what follows the warm-up; the rest is measured."""
HALF_WIDTH_MAX: Final = 0.05
"""Of the interval of a measured mean, relative: more and it is not known."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """`seconds` of a round by load. Each load has so many rounds at a time, until its mean is known
    or it had the most."""

    seconds: Mapping[float, float]
    at_a_time: int
    most: int


@dataclass(frozen=True, slots=True)
class Scale:
    """`pilot` in seconds."""

    consumers: Rounds
    front_end: Rounds
    pilot: float


FULL: Final = Scale(
    consumers=Rounds({0.5: 10.0, 0.7: 20.0, 0.85: 60.0}, at_a_time=10, most=40),
    front_end=Rounds({0.5: 5.0, 0.7: 5.0, 0.85: 5.0}, at_a_time=20, most=160),
    pilot=10.0,
)
QUICK: Final = Scale(
    consumers=Rounds({0.5: 2.0, 0.7: 4.0, 0.85: 10.0}, at_a_time=2, most=2),
    front_end=Rounds({0.5: 2.0, 0.7: 2.0, 0.85: 2.0}, at_a_time=2, most=2),
    pilot=3.0,
)

Found = TypeVar("Found")
"""What one round tells."""


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

    @property
    def known(self) -> bool:
        return self.half_width <= HALF_WIDTH_MAX

    @property
    def found(self) -> str:
        return (
            f"predicted {1_000 * self.predicted:.4g} ms, measured {1_000 * self.measured.mean:.4g} "
            f"± {self.half_width:.1%}: {self.error:+.1%}; utilisation {self.utilisation:.2f}, "
            f"{self.arrival_rate:.4g} /s; {self.measured.samples} {self.measured.by}"
        )


@dataclass(frozen=True, slots=True)
class Case(Generic[Found]):
    """Told by load: what runs a round under a name, reads it, and makes a point of all rounds."""

    name: str
    rounds: Rounds
    run: Callable[[float, int, str], None]
    read: Callable[[float, Traced], Found]
    point: Callable[[float, list[Found]], Point]

    def points(self, server: Service, tell: Tell) -> list[Point]:
        found: dict[float, list[Found]] = {load: [] for load in self.rounds.seconds}
        points: dict[float, Point] = {}
        wanted, begun, most = list(found), 0, self.rounds.most
        while wanted:
            server.start()
            numbers = range(begun, min(begun + self.rounds.at_a_time, most))
            for number in numbers:
                for load in wanted:
                    tell(f"{self.name} at {load:.0%}, round {number + 1} of {most} at most")
                    self.run(load, number, _name(load, number))
            server.stop()
            begun = numbers.stop
            for load in wanted:
                names = server.quiet([_name(load, number) for number in numbers])
                found[load] += [self.read(load, server.traced(name)) for name in names]
                points[load] = self.point(load, found[load])
                tell(f"{self.name} at {load:.0%}: {points[load].found}")
            wanted = [load for load in wanted if begun < most and not points[load].known]
        return [points[load] for load in found]


def _name(load: float, number: int) -> str:
    return f"load-{100 * load:.0f}-{number}"


def consumers(seed: int, scale: Scale, tell: Tell = tell_nobody) -> list[Point]:
    """The load is of what the consumers could do in a pilot run, delays and all."""
    rounds = scale.consumers
    with service() as server:
        server.start()
        _work(server, PILOT, seed, 0.5 * CONSUMERS * 1_000 / WORK_MS, scale.pilot)
        server.stop()
        pilot = server.traced(PILOT)
        queue = pilot.calibrated(pilot.sending(0.0)).queues[0]
        capacity = CONSUMERS * known(queue.service_rate, "service_rate").value

        def run(load: float, number: int, name: str) -> None:
            _work(server, name, seed + number, load * capacity, rounds.seconds[load])

        def read(load: float, traced: Traced) -> tuple[QueueParameters, float]:
            after = traced.sending(WARM_UP_SHARE * rounds.seconds[load])
            first, rest = after.split(CONSUMERS_CALIBRATED)
            return traced.calibrated(first).queues[0], traced.sojourn(rest)

        return Case("consumers", rounds, run, read, _consumed).points(server, tell)


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


def _consumed(load: float, found: list[tuple[QueueParameters, float]]) -> Point:
    queues = [queue for queue, _ in found]
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
        Estimate(tuple(mean for _, mean in found), CONFIDENCE),
    )


def front_end(seed: int, scale: Scale, tell: Tell = tell_nobody) -> list[Point]:
    """The load is the share of time in which it has something in hand."""
    rounds = scale.front_end
    with service() as server:
        rates = _rates(server, seed, scale)

        def run(load: float, number: int, name: str) -> None:
            seconds = rounds.seconds[load]
            _send(server, name, seed + number, FRONT_END_SENDERS, seconds, rates[load])

        def read(load: float, traced: Traced) -> tuple[FrontEndParameters, Commits, float]:
            after = traced.sending(WARM_UP_SHARE * rounds.seconds[load])
            first, rest = after.split(FRONT_END_CALIBRATED)
            front = traced.calibrated(first, SENDS).front_ends[0]
            responses = traced.sends(rest).response
            return front, commits_of(traced.sends(first)), float(responses.mean()) / 1e6

        return Case("front end", rounds, run, read, _answered).points(server, tell)


def _rates(server: Service, seed: int, scale: Scale) -> dict[float, float]:
    """Of messages, by load: what a pilot run at half the rate of a closed loop tells, set right by
    how much faster the front end was in others."""

    def ran(name: str, rate: float | None, senders: int = FRONT_END_SENDERS) -> Traced:
        server.start()
        _send(server, name, seed, senders, scale.pilot, rate)
        server.stop()
        return server.traced(name)

    most = _in_front(ran("closed", None, CLOSED_SENDERS), scale.pilot).request_rate
    pilot = ran(PILOT, FRONT_END_BATCH * known(most, "request_rate").value / 2)
    sends = pilot.sends(pilot.sending(WARM_UP_SHARE * scale.pilot))
    rate = known(_in_front(pilot, scale.pilot).request_rate, "request_rate").value
    groups = groups_of([commits_of(sends)], rate)
    foreseen = {load: arrival_rate_at(load, groups) for load in scale.front_end.seconds}
    faster: dict[float, list[float]] = {load: [] for load in foreseen}
    for turn in range(PILOTS):
        for load, times in faster.items():
            rate = foreseen[load] * fmean(times or [1.0])
            traced = ran(f"{PILOT}-{100 * load:.0f}-{turn}", FRONT_END_BATCH * rate)
            share = known(_in_front(traced, scale.pilot).utilisation, "utilisation").value
            times.append(rate / arrival_rate_at(min(share, UTILISATION_MAX), groups))
    return {load: FRONT_END_BATCH * foreseen[load] * fmean(faster[load]) for load in foreseen}


def _in_front(traced: Traced, seconds: float) -> FrontEndParameters:
    period = traced.sending(WARM_UP_SHARE * seconds)
    return traced.calibrated(period, SENDS).front_ends[0]


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
        punctual=True,
        body_bytes=BODY_BYTES,
        plain=True,
    )


def _answered(load: float, found: list[tuple[FrontEndParameters, Commits, float]]) -> Point:
    fronts, commits, means = zip(*found, strict=True)
    rate = fmean(known(each.request_rate, "request_rate").value for each in fronts)
    utilisation = fmean(known(each.utilisation, "utilisation").value for each in fronts)
    beside = fmean(each.beside_seconds for each in commits)
    predicted = bulk(rate, groups_of(commits, rate)).sojourn_time + beside
    return Point("front end", load, utilisation, rate, predicted, Estimate(means, CONFIDENCE))
