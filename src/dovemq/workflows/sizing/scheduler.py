"""The scheduler: how many consumers each topic gets, and why (`elastic`, §II and §V). It is pure.

An alarm is a measured mean response time above the threshold, or a topic that the measured rates
overload. It is answered at once with the plan of `models.planning`, unless the cool-down of the
last change runs or the plan saves too little. Consumers are released only after a period without
interruption below the threshold less the hysteresis; the largest of the allocations that were
wanted in the period is kept, so that a short lull releases nothing. A release that has to be taken
back soon was a mistake: each doubles the time of calm that the next one needs, and one that lasts
halves it again. So consumers do not flap when the load swings or the need lies near a whole number.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.models.jobs import JobRoute
from dovemq.workflows.sizing.decisions import Prediction, SizingCause, SizingDecision
from dovemq.workflows.sizing.planning import ConsumerPlanner, PlannedConsumers
from dovemq.workflows.sizing.settings import SizingSettings
from dovemq.workflows.sizing.workload import MeasuredWorkload

MISTAKES_MAX: Final = 5
"""More mistaken releases than that do not make the next one wait longer."""


class SizingObservation(Struct, frozen=True):
    """The figures of the monitor, the routes of the job types, and the present consumers."""

    workload: MeasuredWorkload
    routes: Mapping[str, tuple[JobRoute, ...]]
    consumers: Mapping[str, int]


class SizingMemory(Struct, frozen=True):
    """The knowledge that the scheduler keeps between decisions.

    `calm_since_ms` is the begin of the present period of calm, if it is calm; `calm_need` is the
    most that was wanted of each topic in it. `mistakes` are releases that were taken back soon.
    """

    changes: int = 0
    changed_ms: int | None = None
    released_ms: int | None = None
    mistakes: int = 0
    calm_since_ms: int | None = None
    calm_need: Mapping[str, int] = {}


def decide(
    observation: SizingObservation, memory: SizingMemory, settings: SizingSettings
) -> tuple[SizingDecision, SizingMemory]:
    """Decides on all topics together.

    The caller carries the decision out and keeps the memory. If it fails to, it may decide again
    with the old memory.
    """
    return _Choice(observation, memory, settings).outcome()


class _Choice:
    def __init__(
        self, observation: SizingObservation, memory: SizingMemory, settings: SizingSettings
    ) -> None:
        self._workload = observation.workload
        self._before = {name: observation.consumers[name] for name in self._workload.topics}
        self._memory, self._settings = memory, settings
        self._now_ms = self._workload.now_ms
        self._measured_ms = self._workload.response_ms
        self._planner: ConsumerPlanner | None = None
        self._expected: Prediction | None = None
        if self._workload.arrival_rate > 0.0:
            self._planner = ConsumerPlanner(self._workload, observation.routes, settings)
            present = {name: max(count, 1) for name, count in self._before.items()}
            self._expected = self._planner.predict(present)

    def outcome(self) -> tuple[SizingDecision, SizingMemory]:
        allowed = {name: self._allowed(name, count) for name, count in self._before.items()}
        if allowed != self._before:
            return self._bounded(allowed)
        if self._workload.span_ms < self._settings.span_ms_min:
            seen = f"jobs were watched for {_seconds(self._workload.span_ms)}"
            return self._kept(SizingCause.WATCHING, f"{seen}, which is too short to judge")
        alarm = self._alarm()
        if alarm is not None:
            return self._answered(*alarm)
        if self._measured_ms is not None and self._measured_ms > self._settings.release_ms:
            return self._kept(SizingCause.IN_BAND, f"{self._measured()}, which is acceptable")
        return self._calmed()

    def _bounded(self, allowed: Mapping[str, int]) -> tuple[SizingDecision, SizingMemory]:
        """Consumers within their bounds, at once: this starts no cool-down."""
        reason = "a number of consumers was outside its bounds"
        predicted = self._planner.predict(allowed) if self._planner else None
        return self._decision(SizingCause.BOUNDS, allowed, reason, None, predicted), self._memory

    def _allowed(self, topic: str, count: int) -> int:
        bounds = self._settings.bounds_of(topic)
        return min(max(count, bounds.least), bounds.most)

    def _alarm(self) -> tuple[SizingCause, str] | None:
        most_ms = self._settings.alarm_ms
        if self._measured_ms is not None and self._measured_ms > most_ms:
            return SizingCause.SLOW, f"{self._measured()}, above {_seconds(most_ms)}"
        unstable = self._expected.unstable if self._expected else ()
        if self._settings.foresee and unstable:
            return SizingCause.OVERLOADED, f"{self._overload(unstable)}; {self._measured()}"
        return None

    def _answered(self, cause: SizingCause, reason: str) -> tuple[SizingDecision, SizingMemory]:
        """The answer to an alarm. Calm is over in any case."""
        left_ms = self._cooling_ms()
        if left_ms > 0:
            return self._kept(
                SizingCause.COOLING_DOWN,
                f"{reason}; the last change was less than the cool-down ago, "
                f"{_seconds(left_ms)} are left",
            )
        if self._planner is None or self._expected is None:
            why = f"{reason}; nothing arrives, so that there are no rates to plan with"
            return self._kept(SizingCause.ALREADY_BEST, why)
        plan = self._planner.fastest(self._memory.changes)
        return self._judged(cause, reason, plan, self._planner, self._expected)

    def _judged(
        self,
        cause: SizingCause,
        reason: str,
        plan: PlannedConsumers,
        planner: ConsumerPlanner,
        expected: Prediction,
    ) -> tuple[SizingDecision, SizingMemory]:
        if plan.consumers == self._before:
            return self._kept(
                SizingCause.ALREADY_BEST, f"{reason}; the present consumers are the plan", plan
            )
        after = planner.predict(plan.consumers)
        adds = sum(plan.consumers.values()) - sum(self._before.values())
        saved = 1.0 - after.all_jobs / expected.all_jobs if not expected.unstable else 1.0
        useless = not expected.unstable and saved < self._settings.gain_min
        if useless and (adds >= 0 or saved < 0.0):
            return self._kept(
                SizingCause.SMALL_GAIN, f"{reason}; another allocation saves {saved:.1%}", plan
            )
        return self._changed(cause, plan.consumers, reason, plan, after)

    def _calmed(self) -> tuple[SizingDecision, SizingMemory]:
        """The release of consumers, once it has been calm for long enough."""
        wanted, plan = self._wanted_when_calm()
        need = {
            name: max(count, self._memory.calm_need.get(name, 0)) for name, count in wanted.items()
        }
        since_ms = self._memory.calm_since_ms
        since_ms = self._now_ms if since_ms is None else since_ms
        memory = msgspec.structs.replace(self._memory, calm_since_ms=since_ms, calm_need=need)
        fewer = {name: min(count, need[name]) for name, count in self._before.items()}
        left_ms = max(since_ms + self._calm_ms - self._now_ms, self._cooling_ms())
        if left_ms > 0:
            reason = f"{self._measured()}; consumers may be released after {_seconds(left_ms)} more"
            return self._kept(SizingCause.GETTING_CALM, reason, plan, memory)
        # Another period of calm begins, which knows nothing of the load of this one.
        memory = msgspec.structs.replace(memory, calm_since_ms=self._now_ms, calm_need={})
        if fewer == self._before:
            reason = f"{self._measured()}; all consumers are needed for it"
            return self._kept(SizingCause.ALL_NEEDED, reason, plan, memory)
        if self._planner is None:
            return self._changed(SizingCause.IDLE, fewer, "nothing has arrived in the window")
        after = self._planner.predict(fewer)
        if not after.all_jobs <= self._settings.release_ms:
            reason = f"{self._measured()}; with fewer it would be {_seconds(after.all_jobs)}"
            return self._kept(SizingCause.ALL_NEEDED, reason, plan, memory)
        reason = f"{self._measured()}, below {_seconds(self._settings.release_ms)} for long enough"
        return self._changed(SizingCause.CALM, fewer, reason, plan, after)

    def _wanted_when_calm(self) -> tuple[Mapping[str, int], PlannedConsumers | None]:
        if self._planner is None:
            least = {name: self._settings.bounds_of(name).least for name in self._before}
            return least, None
        plan = self._planner.cheapest(self._settings.release_ms)
        return plan.consumers, plan

    @property
    def _calm_ms(self) -> int:
        return self._settings.calm_ms << self._memory.mistakes

    def _cooling_ms(self) -> int:
        changed_ms = self._memory.changed_ms
        return 0 if changed_ms is None else changed_ms + self._settings.cool_down_ms - self._now_ms

    def _kept(
        self,
        cause: SizingCause,
        reason: str,
        plan: PlannedConsumers | None = None,
        memory: SizingMemory | None = None,
    ) -> tuple[SizingDecision, SizingMemory]:
        """No change. Without a memory to keep it is not calm."""
        if memory is None:
            memory = msgspec.structs.replace(self._memory, calm_since_ms=None, calm_need={})
        return self._decision(cause, self._before, reason, plan, self._expected), memory

    def _changed(
        self,
        cause: SizingCause,
        after: Mapping[str, int],
        reason: str,
        plan: PlannedConsumers | None = None,
        predicted: Prediction | None = None,
    ) -> tuple[SizingDecision, SizingMemory]:
        memory = self._after_change(releases=sum(after.values()) < sum(self._before.values()))
        if predicted is None and self._planner is not None:
            predicted = self._planner.predict(after)
        return self._decision(cause, after, reason, plan, predicted), memory

    def _after_change(self, *, releases: bool) -> SizingMemory:
        old = self._memory
        mistakes, released_ms = old.mistakes, old.released_ms
        lasted_ms = None if released_ms is None else self._now_ms - released_ms
        if lasted_ms is not None and not releases and lasted_ms < 2 * self._calm_ms:
            mistakes = min(mistakes + 1, MISTAKES_MAX)
        elif lasted_ms is not None and lasted_ms >= 2 * self._calm_ms:
            mistakes = max(mistakes - 1, 0)
        return SizingMemory(
            changes=old.changes + 1,
            changed_ms=self._now_ms,
            released_ms=self._now_ms if releases else None,
            mistakes=mistakes,
        )

    def _decision(
        self,
        cause: SizingCause,
        after: Mapping[str, int],
        reason: str,
        plan: PlannedConsumers | None,
        predicted: Prediction | None,
    ) -> SizingDecision:
        return SizingDecision(
            self._now_ms,
            cause,
            self._before,
            after,
            self._measured_ms,
            self._expected,
            predicted,
            reason + self._assumptions(plan),
            plan.note if plan else "",
            plan.missing if plan else {},
        )

    def _assumptions(self, plan: PlannedConsumers | None) -> str:
        """Tells what the plan could not reach, and what it had to assume."""
        text = ""
        if plan is not None and plan.note.startswith("infeasible"):
            lacks = [f"{topic} lacks {count}" for topic, count in plan.missing.items() if count]
            text = f"; {plan.note}" + (f" ({', '.join(lacks)})" if lacks else "")
        if plan is not None and self._workload.assumed:
            names = ", ".join(self._workload.assumed)
            text += f"; no service was measured yet at {names}, its time is assumed"
        return text

    def _measured(self) -> str:
        if self._measured_ms is None:
            return "no job has ended in the window"
        return f"the mean response time is {_seconds(self._measured_ms)}"

    def _overload(self, topics: Sequence[str]) -> str:
        assert self._planner is not None
        loads = self._planner.loads(self._before)
        parts = [f"{name} with a load of {loads[name]:.2f} per consumer" for name in topics]
        return f"unstable: {', '.join(parts)}"


def _seconds(time_ms: float) -> str:
    return f"{time_ms / 1_000.0:.3g} s"
