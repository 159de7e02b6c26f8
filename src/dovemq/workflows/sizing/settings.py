"""The settings of the scheduler: what it is to reach, and how calm it must be about it."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from dovemq.core.errors import InvariantError

Method: TypeAlias = Literal["greedy", "exact", "random"]
METHODS: Final = ("greedy", "exact", "random")
CONSUMERS_MAX: Final = 1_000
"""The most consumers of one topic, unless the settings say less."""

SPAN_MS_MIN: Final = 10_000


class ConsumerBounds(Struct, frozen=True):
    """The least and the greatest number of consumers of one topic."""

    least: int = 1
    most: int = CONSUMERS_MAX

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most <= CONSUMERS_MAX:
            raise InvariantError(
                f"The bounds of consumers are {self.least} and {self.most}: 1 to {CONSUMERS_MAX} "
                "are possible."
            )


class SizingSettings(Struct, frozen=True):
    """Either a `budget` (MinTime) or a `target_ms` (MinCost).

    `budget` is the cost beyond the least consumers of all topics. `threshold_ms` is the measured
    response time above which consumers are added or moved; with a target it is the target.
    Consumers are released below `threshold_ms` · (1 − `hysteresis`), after `calm_ms` of calm.
    Between two changes lies `cool_down_ms`. A change that the model expects to save less than
    `gain_min` of the response time is not made. With `foresee` a topic that the measured rates
    overload is an alarm too, before the response time has risen. Nothing
    is decided before jobs were watched for `span_ms_min`.
    """

    budget: float | None = None
    target_ms: float | None = None
    threshold_ms: float | None = None
    method: Method = "greedy"
    hysteresis: float = 0.3
    cool_down_ms: int = 30_000
    calm_ms: int = 300_000
    gain_min: float = 0.05
    span_ms_min: int = SPAN_MS_MIN
    foresee: bool = True
    bounds: Mapping[str, ConsumerBounds] = {}
    bounds_of_others: ConsumerBounds = ConsumerBounds()
    costs: Mapping[str, float] = {}
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.budget is None) == (self.target_ms is None):
            raise InvariantError("The scheduler needs either a budget or a target.")
        if self.target_ms is None and self.threshold_ms is None:
            raise InvariantError("A budget needs a threshold of the response time.")
        if not 0.0 <= self.hysteresis < 1.0:
            raise InvariantError(f"The hysteresis is {self.hysteresis:g}: 0 to below 1 is needed.")

    @property
    def alarm_ms(self) -> float:
        if self.threshold_ms is not None:
            return self.threshold_ms
        assert self.target_ms is not None
        return self.target_ms

    @property
    def release_ms(self) -> float:
        return self.alarm_ms * (1.0 - self.hysteresis)

    def bounds_of(self, topic: str) -> ConsumerBounds:
        return self.bounds.get(topic, self.bounds_of_others)
