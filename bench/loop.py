"""The loop of `dovemq reproduce loop`, measured with care: disturbed rounds are repeated.

    python -m bench.loop [--seed 0] [--json]

The service has a processor to itself, and all processors are kept awake and watched. A round is
repeated, five times at most, if other machines on the same hardware took more than 1 % of the
processors (5 % for consumers, which mostly wait), and a round of the front end also if a processor
was away for 10 ms or the service's own was slower than 96 % of its median. A round that stays
disturbed is left out. Each load has rounds until its mean is known to 5 %, 40 of consumers and 160
of the front end at most. Takes up to an hour. Ends with 1 if a prediction is more than 15 % off, or
a mean is not known to 5 %.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeVar

from bench.processors import Look, Watched, awake, divided, on
from bench.tables import Row, parser_of, show
from bench.undisturbed import STOLEN_SHARE_MAX, Undisturbed
from dovemq.experiments.figure import Tell
from dovemq.experiments.loop import ERROR_MAX
from dovemq.experiments.loop_cases import (
    CONSUMER_ROUNDS,
    FRONT_END_ROUNDS,
    Case,
    LoopPoint,
    consumers,
    front_end,
    round_name,
)
from dovemq.experiments.service_runs import LoadedService, loaded_service
from dovemq.pipeline.calibration.periods import Traced

WAITING_STOLEN_SHARE_MAX: Final = 0.05
"""Consumers mostly wait, so that lost processor time matters less."""
SPEED_SHARE_MIN: Final = 0.96
"""The share of its median speed that the service's processor must have while it is busy."""
HALF_WIDTH_MAX: Final = 0.05
"""Half the interval of a measured mean, relative to the mean; a wider one is not known."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class RoundLimits:
    at_a_time: int
    most: int


CONSUMER_LIMITS: Final = RoundLimits(at_a_time=10, most=40)
FRONT_END_LIMITS: Final = RoundLimits(at_a_time=20, most=160)


class WatchedService(LoadedService):
    """A service on its own processor, whose disturbed rounds are repeated."""

    def __init__(self, folder: Path, processors: Set[int], looks: Mapping[int, Look]) -> None:
        """`looks` observe all processors, `processors` among them."""
        super().__init__(folder)
        self._processors = processors
        self._looks = looks
        self._speeds: list[float] = []
        self._attempts: dict[str, int] = {}
        self._undisturbed: set[str] = set()

    def start(self) -> None:
        with on(self._processors):
            super().start()

    def load(self, name: str, **fields: Any) -> None:
        attempts = Undisturbed(WAITING_STOLEN_SHARE_MAX)
        self._repeat(name, attempts, lambda own: super(WatchedService, self).load(own, **fields))

    def send(self, name: str, **fields: Any) -> None:
        attempts = Undisturbed(STOLEN_SHARE_MAX)

        def act(own: str) -> None:
            before = {each: look() for each, look in self._looks.items()}
            super(WatchedService, self).send(own, **fields)
            if self._was_slowed(before):
                attempts.spoil()

        self._repeat(name, attempts, act)

    def _repeat(self, name: str, attempts: Undisturbed, act: Callable[[str], None]) -> None:
        for attempt in attempts:
            self._attempts[name] = attempt
            act(self._attempt(name))
        if attempts.reached:
            self._undisturbed.add(name)

    def _was_slowed(self, before: Mapping[int, Watched]) -> bool:
        since = {each: look().since(before[each]) for each, look in self._looks.items()}
        speed = min(since[each].speed for each in self._processors)
        self._speeds.append(speed)
        paused = any(each.pauses for each in since.values())
        return paused or speed < SPEED_SHARE_MIN * median(self._speeds)

    def undisturbed(self, name: str) -> bool:
        """Whether nothing disturbed the last attempt of a round."""
        return name in self._undisturbed

    def traced(self, name: str) -> Traced:
        return super().traced(self._attempt(name))

    def _attempt(self, name: str) -> str:
        return f"{name}-{self._attempts[name]}"


@contextlib.contextmanager
def watched_service() -> Iterator[WatchedService]:
    own, others = divided()
    with (
        awake() as looks,
        on(others),
        loaded_service(lambda folder: WatchedService(folder, own, looks)) as service,
    ):
        yield service


def known(point: LoopPoint) -> bool:
    return point.half_width <= HALF_WIDTH_MAX


def points_until_known(
    case: Case[Found], server: WatchedService, limits: RoundLimits, tell: Tell
) -> dict[float, LoopPoint | None]:
    """Points by load; None where every round was disturbed."""
    found: dict[float, list[Found]] = {load: [] for load in case.rounds.seconds}
    points: dict[float, LoopPoint | None] = dict.fromkeys(found)
    wanted, done = list(found), 0
    while wanted and done < limits.most:
        numbers = range(done, min(done + limits.at_a_time, limits.most))
        server.start()
        for number in numbers:
            case.run_round(number, wanted, tell)
        server.stop()
        done = numbers.stop
        for load in wanted:
            names = [round_name(load, number) for number in numbers]
            kept = [name for name in names if server.undisturbed(name)]
            found[load] += [case.read(load, server.traced(name)) for name in kept]
            points[load] = case.joined(load, found[load]) if found[load] else None
            tell(f"{case.name} at {load:.0%}: {len(names) - len(kept)} disturbed rounds left out")
        wanted = [load for load in wanted if (point := points[load]) is None or not known(point)]
    return points


def _row(case: str, load: float, point: LoopPoint | None) -> Row:
    if point is None:
        return {"case": case, "load": load, "rounds": 0}
    return {
        "case": case,
        "load": load,
        "rounds": point.measured.samples,
        "busy": point.utilisation,
        "predicted_ms": 1_000 * point.predicted,
        "measured_ms": 1_000 * point.measured.mean,
        "half_width": point.half_width,
        "error": point.error,
    }


def main() -> int:
    parser = parser_of("loop", __doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the load (default: 0)")
    args = parser.parse_args()

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    points: dict[tuple[str, float], LoopPoint | None] = {}
    with watched_service() as server:
        worked = consumers(server, args.seed, CONSUMER_ROUNDS)
        for load, point in points_until_known(worked, server, CONSUMER_LIMITS, tell).items():
            points["consumers", load] = point
    with watched_service() as server:
        answered = front_end(server, args.seed, FRONT_END_ROUNDS)
        for load, point in points_until_known(answered, server, FRONT_END_LIMITS, tell).items():
            points["front end", load] = point
    show([_row(*key, point) for key, point in points.items()], as_json=args.json)
    good = all(
        point is not None and known(point) and abs(point.error) <= ERROR_MAX
        for point in points.values()
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
