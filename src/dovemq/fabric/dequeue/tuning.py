"""The sleep of rds, tuned online: a bounded hill climb towards the best throughput.

A long sleep saves misses, and the work that they cost, but lets messages wait. Which sleep is best
depends on the load, so it is tried out. Once a period the tuner compares what it measured with what
it measured at the best sleep so far, in this order:

- A queue that falls behind, because fewer messages are received than sent, is worse than one that
  keeps up. Of two that fall behind, the one that delivers more is better: their latency grows
  whatever the sleep is.
- Of two that keep up, the one whose latency is within its bound is better. If neither is, the
  shorter latency is better. If both are, the one that delivers more is better, because senders that
  wait for their answers send more; if they deliver the same, the lower cost of a message decides.

Differences below `gain_min` count as none, so that noise moves nothing. A better trial is the new
best, and the next trial goes on in its direction. After any other trial the tuner returns to the
best sleep, measures it again and tries the other direction. When both directions have failed, it
rests there for `rest_periods`, and the next two trials are farther away, up to the power
`REACH_MAX` of the factor: where all short sleeps are equally bad, a small step shows nothing.
"""

from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import InvariantError

LONGER: Final = 1
SHORTER: Final = -1
REACH_MAX: Final = 3
"""The largest power of the factor by which a trial differs from the best sleep."""


class SleepSettings(Struct, frozen=True):
    """`factor` is the ratio of a near trial to the best sleep."""

    start_ms: int = 100
    least_ms: int = 10
    most_ms: int = 2_000
    latency_ms_max: float = 1_000.0
    gain_min: float = 0.05
    factor: float = 2.0
    rest_periods: int = 10

    def __post_init__(self) -> None:
        if not 1 <= self.least_ms <= self.start_ms <= self.most_ms or not self.factor > 1:
            raise InvariantError("The bounds of a tuned sleep are not in order.")


class SleepObservation(Struct, frozen=True):
    """Measurements of a period with the sleep that was decided before.

    `sent` and `received` are messages a second; `latency_ms` is the time for which messages were
    visible until they were received, a mean or a quantile; `cost` is the cost of a message, in any
    unit.
    """

    sent: float
    received: float
    latency_ms: float
    cost: float = 0.0


class SleepMemory(Struct, frozen=True):
    """`best` was measured at `best_ms`; None until then. `resting` periods pass without a trial."""

    sleep_ms: int
    best_ms: int
    best: SleepObservation | None = None
    direction: int = LONGER
    reach: int = 1
    failed: int = 0
    resting: int = 0

    @classmethod
    def first(cls, settings: SleepSettings) -> "SleepMemory":
        return cls(settings.start_ms, settings.start_ms)

    @property
    def on_trial(self) -> bool:
        return self.sleep_ms != self.best_ms


class SleepDecision(Struct, frozen=True):
    sleep_ms: int
    reason: str


def tune_sleep(
    observation: SleepObservation, memory: SleepMemory, settings: SleepSettings
) -> tuple[SleepDecision, SleepMemory]:
    """The sleep of the next period, and the memory that belongs to it."""
    if memory.on_trial and memory.best is not None:
        if _is_better(observation, memory.best, settings):
            memory = msgspec.structs.replace(
                memory, best_ms=memory.sleep_ms, best=observation, failed=0, reach=1
            )
            return _tried(memory, settings, "the trial was better")
        return _returned(memory, settings)
    memory = msgspec.structs.replace(memory, best=observation)
    if memory.resting:
        memory = msgspec.structs.replace(memory, resting=memory.resting - 1)
        return SleepDecision(memory.sleep_ms, "neither direction was better"), memory
    return _tried(memory, settings, "the best sleep was measured again")


def _tried(
    memory: SleepMemory, settings: SleepSettings, why: str
) -> tuple[SleepDecision, SleepMemory]:
    """The next trial in the direction of the memory, or in the other one at a bound."""
    direction = memory.direction
    trial_ms = _trial_ms(memory, direction, settings)
    if trial_ms == memory.best_ms:
        direction = -direction
        trial_ms = _trial_ms(memory, direction, settings)
    reason = f"{why}, so {'a longer' if direction == LONGER else 'a shorter'} one is tried"
    memory = msgspec.structs.replace(memory, sleep_ms=trial_ms, direction=direction)
    return SleepDecision(trial_ms, reason), memory


def _trial_ms(memory: SleepMemory, direction: int, settings: SleepSettings) -> int:
    """A sleep that differs by at least a millisecond, unless a bound is reached."""
    best_ms = memory.best_ms
    trial = best_ms * settings.factor ** (direction * memory.reach)
    moved = max(round(trial), best_ms + 1) if direction == LONGER else min(int(trial), best_ms - 1)
    return min(max(moved, settings.least_ms), settings.most_ms)


def _returned(memory: SleepMemory, settings: SleepSettings) -> tuple[SleepDecision, SleepMemory]:
    other_ms = _trial_ms(memory, -memory.direction, settings)
    both = memory.failed > 0 or other_ms == memory.best_ms
    memory = msgspec.structs.replace(
        memory,
        sleep_ms=memory.best_ms,
        direction=-memory.direction,
        failed=0 if both else 1,
        reach=memory.reach % REACH_MAX + 1 if both else memory.reach,
        resting=settings.rest_periods if both else 0,
    )
    return SleepDecision(memory.best_ms, "the trial was no better"), memory


def _is_behind(observation: SleepObservation, settings: SleepSettings) -> bool:
    return _is_more(observation.sent, observation.received, settings)


def _is_better(trial: SleepObservation, best: SleepObservation, settings: SleepSettings) -> bool:
    behind, was_behind = (_is_behind(each, settings) for each in (trial, best))
    if behind or was_behind:
        return was_behind and (not behind or _is_more(trial.received, best.received, settings))
    late, was_late = (each.latency_ms > settings.latency_ms_max for each in (trial, best))
    if late or was_late:
        return was_late and (not late or _is_more(best.latency_ms, trial.latency_ms, settings))
    if _is_more(best.received, trial.received, settings):
        return False
    more = _is_more(trial.received, best.received, settings)
    return more or _is_more(best.cost, trial.cost, settings)


def _is_more(one: float, other: float, settings: SleepSettings) -> bool:
    return one > other * (1.0 + settings.gain_min)
