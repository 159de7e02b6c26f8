"""The cases that `loop` runs: the real service, calibrated and measured at several loads.

In one case consumers work for a random time on each message, and the queue before them is GI/G/m.
In the other the front end itself is the server: it takes all waiting sends into one commit, and so
does its model. The speed of a machine changes within minutes, so every load runs in several
rounds, in turn with the others.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Generic, TypeVar

from dovemq.experiments.figure import Tell
from dovemq.experiments.service_runs import LoadedService
from dovemq.load.plan import Pauses
from dovemq.models.analytic import arrival_rate_at, bulk, ggm
from dovemq.models.calibration import CONFIDENCE, known
from dovemq.models.calibration.commits import Commits, commits_of, groups_of
from dovemq.models.simulation.estimates import Estimate
from dovemq.pipeline.calibration.parameters import FrontEndParameters, QueueParameters
from dovemq.pipeline.calibration.periods import Traced

CONSUMERS: Final = 8
WORK_MS: Final = 20
SENDERS: Final = 8
FRONT_END_SENDERS: Final = 64
FRONT_END_BATCH: Final = 10
"""Batches keep the front end busy, so that its clients need less of the same machine."""
BODY_BYTES: Final = 256
PILOT: Final = "pilot"
PILOTS: Final = 3
CLOSED_SENDERS: Final = 16
SENDS: Final = "event = 'sent'"
UTILISATION_MAX: Final = 0.99
WARM_UP_SHARE: Final = 0.1
CONSUMERS_CALIBRATED: Final = 0.25
FRONT_END_CALIBRATED: Final = 0.5
"""The share of a round after its warm-up that calibrates; the rest is measured."""

Found = TypeVar("Found")
"""What one round yields."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """`seconds` of one round by load, and the number of rounds of each load."""

    seconds: Mapping[float, float]
    count: int


@dataclass(frozen=True, slots=True)
class Scale:
    consumers: Rounds
    front_end: Rounds
    pilot_seconds: float


FULL: Final = Scale(
    consumers=Rounds({0.5: 10.0, 0.7: 20.0, 0.85: 60.0}, count=10),
    front_end=Rounds({0.5: 5.0, 0.7: 5.0, 0.85: 5.0}, count=20),
    pilot_seconds=10.0,
)
QUICK: Final = Scale(
    consumers=Rounds({0.5: 2.0, 0.7: 4.0, 0.85: 10.0}, count=2),
    front_end=Rounds({0.5: 2.0, 0.7: 2.0, 0.85: 2.0}, count=2),
    pilot_seconds=3.0,
)


@dataclass(frozen=True, slots=True)
class LoopPoint:
    """Times in seconds; `utilisation` as calibrated, `measured` with an interval by rounds."""

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
        """Half the interval of the measured mean, relative to the mean."""
        return self.measured.half_width / self.measured.mean

    @property
    def found(self) -> str:
        return (
            f"predicted {1_000 * self.predicted:.4g} ms, measured {1_000 * self.measured.mean:.4g} "
            f"ms ± {self.half_width:.1%}: {self.error:+.1%}; utilisation {self.utilisation:.2f}, "
            f"{self.arrival_rate:.4g} /s; {self.measured.samples} rounds"
        )


@dataclass(frozen=True, slots=True)
class Case(Generic[Found]):
    """`run` starts one round of a load under a name, `read` reads it, `point` joins all rounds."""

    name: str
    rounds: Rounds
    run: Callable[[float, int, str], None]
    read: Callable[[float, Traced], Found]
    point: Callable[[float, list[Found]], LoopPoint]

    def points(self, server: LoadedService, tell: Tell) -> list[LoopPoint]:
        server.start()
        for number in range(self.rounds.count):
            self.run_round(number, self.rounds.seconds, tell)
        server.stop()
        return [
            self.point(
                load,
                [
                    self.read(load, server.traced(round_name(load, number)))
                    for number in range(self.rounds.count)
                ],
            )
            for load in self.rounds.seconds
        ]

    def run_round(self, number: int, loads: Iterable[float], tell: Tell) -> None:
        for load in loads:
            tell(f"{self.name} at {load:.0%}, round {number + 1}")
            self.run(load, number, round_name(load, number))


def round_name(load: float, number: int) -> str:
    return f"load-{100 * load:.0f}-{number}"


def consumers(
    server: LoadedService, seed: int, scale: Scale
) -> Case[tuple[QueueParameters, float]]:
    """Loads are relative to what the consumers could do in a pilot run, delays included."""
    rounds = scale.consumers
    server.start()
    _work(server, PILOT, seed, 0.5 * CONSUMERS * 1_000 / WORK_MS, scale.pilot_seconds)
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

    return Case("consumers", rounds, run, read, _consumed)


def _work(server: LoadedService, name: str, seed: int, rate: float, seconds: float) -> None:
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


def _consumed(load: float, found: list[tuple[QueueParameters, float]]) -> LoopPoint:
    queues = [queue for queue, _ in found]
    rate = fmean(known(queue.arrivals.rate, "arrival_rate").value for queue in queues)
    station = ggm(
        rate,
        fmean(known(queue.arrivals.scv, "arrival_scv").value for queue in queues),
        fmean(known(queue.service_rate, "service_rate").value for queue in queues),
        fmean(known(queue.service_scv, "service_scv").value for queue in queues),
        max(queue.consumers for queue in queues),
    )
    # After the settle a consumer is busy for a while, but its message has left.
    work = fmean(known(queue.work, "work").value for queue in queues)
    return LoopPoint(
        "consumers",
        load,
        float(station.utilisation),
        rate,
        float(station.waiting_time) + work,
        Estimate(tuple(mean for _, mean in found), CONFIDENCE),
    )


def front_end(
    server: LoadedService, seed: int, scale: Scale
) -> Case[tuple[FrontEndParameters, Commits, float]]:
    """The load is the share of time in which the front end has a request in hand."""
    rounds = scale.front_end
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

    return Case("front end", rounds, run, read, _answered)


def _rates(server: LoadedService, seed: int, scale: Scale) -> dict[float, float]:
    """Messages a second for each load.

    A first guess comes from a pilot run at half the rate of a closed loop. Further pilot runs at
    each load correct it by how much faster the front end was than guessed.
    """

    def ran(name: str, rate: float | None, senders: int = FRONT_END_SENDERS) -> Traced:
        server.start()
        _send(server, name, seed, senders, scale.pilot_seconds, rate)
        server.stop()
        return server.traced(name)

    most = _in_front(ran("closed", None, CLOSED_SENDERS), scale.pilot_seconds).request_rate
    pilot = ran(PILOT, FRONT_END_BATCH * known(most, "request_rate").value / 2)
    sends = pilot.sends(pilot.sending(WARM_UP_SHARE * scale.pilot_seconds))
    rate = known(_in_front(pilot, scale.pilot_seconds).request_rate, "request_rate").value
    groups = groups_of([commits_of(sends)], rate)
    foreseen = {load: arrival_rate_at(load, groups) for load in scale.front_end.seconds}
    faster: dict[float, list[float]] = {load: [] for load in foreseen}
    for turn in range(PILOTS):
        for load, times in faster.items():
            rate = foreseen[load] * fmean(times or [1.0])
            traced = ran(f"{PILOT}-{100 * load:.0f}-{turn}", FRONT_END_BATCH * rate)
            share = known(_in_front(traced, scale.pilot_seconds).utilisation, "utilisation").value
            times.append(rate / arrival_rate_at(min(share, UTILISATION_MAX), groups))
    return {load: FRONT_END_BATCH * foreseen[load] * fmean(faster[load]) for load in foreseen}


def _in_front(traced: Traced, seconds: float) -> FrontEndParameters:
    period = traced.sending(WARM_UP_SHARE * seconds)
    return traced.calibrated(period, SENDS).front_ends[0]


def _send(
    server: LoadedService, name: str, seed: int, senders: int, seconds: float, rate: float | None
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


def _answered(load: float, found: list[tuple[FrontEndParameters, Commits, float]]) -> LoopPoint:
    fronts, commits, means = zip(*found, strict=True)
    rate = fmean(known(each.request_rate, "request_rate").value for each in fronts)
    utilisation = fmean(known(each.utilisation, "utilisation").value for each in fronts)
    beside = fmean(each.beside_seconds for each in commits)
    predicted = bulk(rate, groups_of(commits, rate)).sojourn_time + beside
    return LoopPoint("front end", load, utilisation, rate, predicted, Estimate(means, CONFIDENCE))
