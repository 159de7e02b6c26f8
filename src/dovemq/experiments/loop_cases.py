"""The cases that `loop` runs: the real service, calibrated and measured at several loads.

In one case consumers work for a random time on each message, and the queue before them is GI/G/m.
In the other the front end itself is the server: it takes all waiting sends into one commit, and so
does its model. The speed of a machine changes within minutes, so every load runs in several
rounds, in turn with the others.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Final, Generic, TypeVar

from dovemq.experiments.figure import Tell
from dovemq.experiments.service_runs import LoadedService
from dovemq.load.plan import Pauses
from dovemq.models.analytic import arrival_rate_at, bulk, ggm
from dovemq.models.calibration import known
from dovemq.models.calibration.commits import Commits, commits_of, groups_of
from dovemq.models.estimates import CONFIDENCE, Estimate
from dovemq.pipeline.calibration.parameters import FrontEndParameters, QueueParameters
from dovemq.pipeline.calibration.periods import Traced

CONSUMERS: Final = 8
WORK_MS: Final = 20
FRONT_END_BATCH: Final = 10
"""Batches keep the front end busy, so that its clients need less of the same machine."""
WORK: Final[Mapping[str, Any]] = {
    "senders": 8,
    "receivers": CONSUMERS,
    "messages": None,
    "receive_batch": 1,
    "receive_pause_ms": WORK_MS,
    "receive_pauses": Pauses.EXPONENTIAL,
    "body_bytes": 256,
}
SENDS: Final[Mapping[str, Any]] = {
    "senders": 64,
    "receivers": 1,
    "messages": None,
    "send_batch": FRONT_END_BATCH,
    "punctual": True,
    "body_bytes": 256,
    "plain": True,
}
CLOSED_SENDERS: Final = 16
PILOT: Final = "pilot"
PILOTS: Final = 3
SENT: Final = "event = 'sent'"
UTILISATION_MAX: Final = 0.99
WARM_UP_SHARE: Final = 0.1
CONSUMERS_CALIBRATED: Final = 0.25
FRONT_END_CALIBRATED: Final = 0.5
"""The share of a round after its warm-up that calibrates; the rest is measured."""

Found = TypeVar("Found")
"""The result of one round."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """The seconds of one round by load, and the number of rounds; a pilot run comes first."""

    seconds: Mapping[float, float]
    count: int
    pilot_seconds: float


CONSUMER_ROUNDS: Final = Rounds({0.5: 10.0, 0.7: 20.0, 0.85: 60.0}, 10, 10.0)
CONSUMER_ROUNDS_QUICK: Final = Rounds({0.5: 2.0, 0.7: 4.0, 0.85: 10.0}, 2, 3.0)
FRONT_END_ROUNDS: Final = Rounds({0.5: 5.0, 0.7: 5.0, 0.85: 5.0}, 20, 10.0)
FRONT_END_ROUNDS_QUICK: Final = Rounds({0.5: 2.0, 0.7: 2.0, 0.85: 2.0}, 2, 3.0)


@dataclass(frozen=True, slots=True)
class LoopPoint:
    """Times in seconds; `utilisation` as calibrated, `measured` with an interval by rounds.

    `predicted` is from all rounds; `predictions`, of single rounds, show how exact it is.
    """

    case: str
    load: float
    utilisation: float
    arrival_rate: float
    predicted: float
    measured: Estimate
    predictions: tuple[float, ...] = ()

    @property
    def error(self) -> float:
        return self.predicted / self.measured.mean - 1.0

    @property
    def half_width(self) -> float:
        """Half the interval of the measured mean, relative to the mean."""
        return self.measured.half_width / self.measured.mean


@dataclass(frozen=True, slots=True)
class Case(Generic[Found]):
    """`run` runs one round of a load under a name, `read` reads it, `point` joins all rounds."""

    name: str
    rounds: Rounds
    run: Callable[[float, int, str], None]
    read: Callable[[float, Traced], Found]
    point: Callable[[float, list[Found]], LoopPoint]

    def points(self, server: LoadedService, tell: Tell) -> list[LoopPoint]:
        numbers = range(self.rounds.count)
        server.start()
        for number in numbers:
            self.run_round(number, self.rounds.seconds, tell)
        server.stop()
        names = {load: [round_name(load, each) for each in numbers] for load in self.rounds.seconds}
        return [
            self.joined(load, [self.read(load, server.traced(name)) for name in own])
            for load, own in names.items()
        ]

    def joined(self, load: float, found: list[Found]) -> LoopPoint:
        predictions = tuple(self.point(load, [each]).predicted for each in found)
        return replace(self.point(load, found), predictions=predictions)

    def run_round(self, number: int, loads: Iterable[float], tell: Tell) -> None:
        for load in loads:
            tell(f"{self.name} at {load:.0%}, round {number + 1}")
            self.run(load, number, round_name(load, number))


def round_name(load: float, number: int) -> str:
    return f"load-{100 * load:.0f}-{number}"


def consumers(
    server: LoadedService, seed: int, rounds: Rounds
) -> Case[tuple[QueueParameters, float]]:
    """Loads are relative to what the consumers could do in a pilot run, delays included."""

    def work(name: str, rate: float, seconds: float, number: int = 0) -> None:
        server.load(name, seed=seed + number, send_rate=rate, seconds_max=seconds, **WORK)

    def run(load: float, number: int, name: str) -> None:
        work(name, load * capacity, rounds.seconds[load], number)

    def read(load: float, traced: Traced) -> tuple[QueueParameters, float]:
        after = traced.sending(WARM_UP_SHARE * rounds.seconds[load])
        first, rest = after.split(CONSUMERS_CALIBRATED)
        return traced.calibrated(first).queues[0], traced.sojourn(rest)

    server.start()
    work(PILOT, 0.5 * CONSUMERS * 1_000 / WORK_MS, rounds.pilot_seconds)
    server.stop()
    pilot = server.traced(PILOT)
    queue = pilot.calibrated(pilot.sending(0.0)).queues[0]
    capacity = CONSUMERS * known(queue.service_rate, "service_rate").value
    return Case("consumers", rounds, run, read, _consumed)


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
    predicted = float(station.waiting_time) + work
    measured = Estimate(tuple(mean for _, mean in found), CONFIDENCE)
    return LoopPoint("consumers", load, float(station.utilisation), rate, predicted, measured)


def front_end(
    server: LoadedService, seed: int, rounds: Rounds
) -> Case[tuple[FrontEndParameters, Commits, float]]:
    """The load is the share of time in which the front end has a request in hand."""
    rates = _rates(server, seed, rounds)

    def run(load: float, number: int, name: str) -> None:
        seconds = rounds.seconds[load]
        server.send(name, seed=seed + number, send_rate=rates[load], seconds_max=seconds, **SENDS)

    def read(load: float, traced: Traced) -> tuple[FrontEndParameters, Commits, float]:
        after = traced.sending(WARM_UP_SHARE * rounds.seconds[load])
        first, rest = after.split(FRONT_END_CALIBRATED)
        front = traced.calibrated(first, SENT).front_ends[0]
        responses = traced.sends(rest).response
        return front, commits_of(traced.sends(first)), float(responses.mean()) / 1e6

    return Case("front end", rounds, run, read, _answered)


def _rates(server: LoadedService, seed: int, rounds: Rounds) -> dict[float, float]:
    """Messages a second for each load.

    A first guess comes from a pilot run at half the rate of a closed loop. Further pilot runs at
    each load correct it by how much faster the front end was than guessed.
    """
    seconds = rounds.pilot_seconds
    warm_up = WARM_UP_SHARE * seconds

    def ran(name: str, rate: float | None, **fields: Any) -> tuple[Traced, FrontEndParameters]:
        server.start()
        asked = {**SENDS, "send_rate": rate, "seconds_max": seconds, "seed": seed, **fields}
        server.send(name, **asked)
        server.stop()
        traced = server.traced(name)
        return traced, traced.calibrated(traced.sending(warm_up), SENT).front_ends[0]

    _, closed = ran("closed", None, senders=CLOSED_SENDERS)
    most = known(closed.request_rate, "request_rate").value
    pilot, front = ran(PILOT, FRONT_END_BATCH * most / 2)
    commits = commits_of(pilot.sends(pilot.sending(warm_up)))
    groups = groups_of([commits], known(front.request_rate, "request_rate").value)
    guessed = {load: arrival_rate_at(load, groups) for load in rounds.seconds}
    faster: dict[float, list[float]] = {load: [] for load in guessed}
    for turn in range(PILOTS):
        for load, times in faster.items():
            rate = guessed[load] * fmean(times or [1.0])
            _, front = ran(f"{PILOT}-{100 * load:.0f}-{turn}", FRONT_END_BATCH * rate)
            share = known(front.utilisation, "utilisation").value
            times.append(rate / arrival_rate_at(min(share, UTILISATION_MAX), groups))
    return {load: FRONT_END_BATCH * guessed[load] * fmean(faster[load]) for load in guessed}


def _answered(load: float, found: list[tuple[FrontEndParameters, Commits, float]]) -> LoopPoint:
    fronts, commits, means = zip(*found, strict=True)
    rate = fmean(known(each.request_rate, "request_rate").value for each in fronts)
    utilisation = fmean(known(each.utilisation, "utilisation").value for each in fronts)
    beside = fmean(each.beside_seconds for each in commits)
    predicted = bulk(rate, groups_of(commits, rate)).sojourn_time + beside
    return LoopPoint("front end", load, utilisation, rate, predicted, Estimate(means, CONFIDENCE))
