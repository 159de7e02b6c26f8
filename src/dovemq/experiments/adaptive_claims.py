"""Simulated receivers whose K adapts: each front end has the meter that a server has."""

from dataclasses import dataclass, field
from typing import TypeAlias

from dovemq.core.adaptive_hint import HintDecision, HintSettings
from dovemq.core.hint_meter import HintMeter
from dovemq.models.simulation.claims import ClaimedQueue, ClaimParameters, HintPolicy

ReceiverPhases: TypeAlias = tuple[tuple[int, float], ...]
"""Numbers of receivers, each for so many seconds."""


@dataclass(frozen=True, slots=True)
class HintChange:
    now_ms: int
    front_end: int
    decision: HintDecision


@dataclass(slots=True)
class AdaptiveHints:
    """Implements `HintPolicy`. `changes` are all changes of K so far."""

    front_ends: int
    settings: HintSettings = field(default_factory=HintSettings)
    changes: list[HintChange] = field(default_factory=list)
    meters: list[HintMeter] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.meters = [self._meter(number) for number in range(self.front_ends)]

    def began(self, front_end: int, now: float) -> int:
        return self.meters[front_end].began(round(1_000 * now))

    def claimed(self, front_end: int, message: int) -> None:
        self.meters[front_end].claimed(1, [(message, 0)])

    def ended(self, front_end: int) -> None:
        self.meters[front_end].ended()

    def checked(self, front_end: int, others: int) -> None:
        self.meters[front_end].checked(1, others)

    def _meter(self, number: int) -> HintMeter:
        return HintMeter(
            self.settings,
            lambda decision, now_ms: self.changes.append(HintChange(now_ms, number, decision)),
        )


def in_phases(
    parameters: ClaimParameters, phases: ReceiverPhases, policy: HintPolicy, seed: int
) -> ClaimedQueue:
    """Runs the phases one after another; returns the queue at the end of the last one."""
    queue = ClaimedQueue(parameters, policy, seed)
    until = 0.0
    for receivers, seconds in phases:
        queue.resize(receivers)
        until += seconds
        queue.advance(until)
    return queue
