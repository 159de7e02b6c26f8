"""joram-model-provisioning: clients join one by one; fig. 10 and 11 of the paper, simulated.

The service's own controller decides when a second partition is added and where clients go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Column, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.intervals import interval_columns, interval_curve, ratio
from dovemq.experiments.steered import SteeredAction, SteeredQueue
from dovemq.fabric.autonomic import ActionKind, ClientRole, ControlSettings
from dovemq.models.estimates import Estimate, Interval
from dovemq.models.simulation import JoramParameters, ReplicatedQueue
from dovemq.models.simulation.joram.parameters import CEILING, with_group_demand

CLIENTS: Final = 15
GAP_S: Final = 10
WINDOW_S: Final = 5
END_S: Final = 240
CAPACITY: Final = 12.0
BEFORE_S: Final = (90, 120)
AFTER_S: Final = (160, 240)
"""The times over which the rates before and after the second partition are taken."""
DEMANDS: Final = (0.25, 0.5, 0.75, 1.0, 1.5)
USUAL: Final = 0.5
POLICIES: Final[Mapping[str, tuple[int, bool]]] = {
    "static": (1, False),
    "dynamic": (256, False),
    "dynamic, sessions migrate": (256, True),
}
"""The most partitions, and whether sessions are elected again."""


@dataclass(frozen=True, slots=True)
class SimulatedCourse:
    """Messages per millisecond in each window, and the changes of the controller."""

    rates: tuple[float, ...]
    actions: tuple[SteeredAction, ...]

    def mean(self, span_s: tuple[int, int]) -> float:
        first, end = (each // WINDOW_S for each in span_s)
        return sum(self.rates[first:end]) / (end - first)

    @property
    def added_s(self) -> float:
        times = [e.now_ms for e in self.actions if e.action.kind is ActionKind.ADD]
        return times[0] / 1_000 if times else float("nan")


def provisioning(effort: Effort) -> Figure:
    courses = {policy: _courses(effort, policy, JoramParameters()) for policy in POLICIES}
    steps = {
        (policy, demand): _step(_courses(effort, policy, with_group_demand(demand)))
        for policy in POLICIES
        if policy != "static"
        for demand in DEMANDS
    }
    return Figure(
        "Clients join one by one: one partition, or as many as needed (joram, fig. 10 and 11)",
        _columns(courses),
        tuple(_panels(courses, steps)),
        tuple(course_claims(courses)),
        (
            "The capacity of a partition is 12 clients: the paper adds its second queue at about "
            "120 s, when 12 have joined.",
            "A producer with two consumers uses half of a partition, since the paper's rate no "
            "longer grows after the second step. Clients stay where they are, so the second "
            "partition has only the last producer and its two consumers.",
            "No client leaves. With the paper's 10,000 and 5,000 messages the first ones would "
            "have done their work before the rates after the step can be measured.",
            *(
                f"dynamic, first run, at {each.now_ms / 1_000:g} s: {each.action.text}"
                for each in courses["dynamic"][0].actions
            ),
        ),
    )


def _courses(effort: Effort, policy: str, parameters: JoramParameters) -> list[SimulatedCourse]:
    effort.tell(f"{policy}, pauses of {parameters.producer_pause:.1f} ms")
    return [_course(effort, policy, parameters, each) for each in range(effort.replications)]


def _course(
    effort: Effort, policy: str, parameters: JoramParameters, number: int
) -> SimulatedCourse:
    partitions_max, migration = POLICIES[policy]
    settings = ControlSettings(1, partitions_max, capacity_start=CAPACITY)
    steered = SteeredQueue(
        ReplicatedQueue(parameters, effort.seed, number), settings, migration=migration
    )
    rates, joined, before = [], 0, 0
    for window in range(END_S // WINDOW_S):
        if window * WINDOW_S >= joined * GAP_S and joined < CLIENTS:
            role = ClientRole.CONSUMER if joined % 3 else ClientRole.PRODUCER
            steered.join(role)
            joined += 1
        steered.advance((window + 1) * WINDOW_S * 1_000.0)
        rates.append((steered.queue.consumed - before) / (WINDOW_S * 1_000.0))
        before = steered.queue.consumed
    return SimulatedCourse(tuple(rates), tuple(steered.actions))


def _step(courses: list[SimulatedCourse]) -> Interval:
    """The rate after the second partition relative to the rate before."""
    return Estimate(
        tuple(each.mean(AFTER_S) / max(each.mean(BEFORE_S), 1e-9) for each in courses)
    ).interval


def _by_window(courses: list[SimulatedCourse]) -> dict[float, Interval]:
    windows = zip(*(each.rates for each in courses), strict=True)
    return {
        float((number + 1) * WINDOW_S): Estimate(tuple(each)).interval
        for number, each in enumerate(windows)
    }


def _columns(courses: Mapping[str, list[SimulatedCourse]]) -> dict[str, Column]:
    rows = [
        (policy, second, each)
        for policy, own in courses.items()
        for second, each in _by_window(own).items()
    ]
    return {
        "policy": [policy for policy, _, _ in rows],
        "time_s": [second for _, second, _ in rows],
        **interval_columns("consumed_per_ms", [each for _, _, each in rows]),
    }


def _panels(
    courses: Mapping[str, list[SimulatedCourse]], steps: Mapping[tuple[str, float], Interval]
) -> Iterator[Panel]:
    yield Panel(
        "one client more every 10 s, until 140 s",
        "time, s",
        "messages received/ms",
        tuple(interval_curve(policy, _by_window(own)) for policy, own in courses.items()),
        (
            PaperMark("paper's text: second queue at about 120 s", x=120.0),
            PaperMark("paper's text: one queue (a tenth of 1.9)", y=CEILING),
            PaperMark("paper's text: two queues (a tenth of 3.7)", y=0.37),
        ),
    )
    yield Panel(
        "the step when a second partition is added",
        "share of a partition that a producer with two consumers uses",
        "rate after / before",
        tuple(
            interval_curve(policy, {demand: steps[policy, demand] for demand in DEMANDS})
            for policy in POLICIES
            if policy != "static"
        ),
        (PaperMark("paper's text: 3.7 / 1.9", y=3.7 / 1.9),),
    )


def course_claims(courses: Mapping[str, list[SimulatedCourse]]) -> Iterator[Verdict]:
    static = courses["static"]
    yield judge(
        "one queue settles at its ceiling (fig. 10)",
        "rate from 160 to 240 s / from 90 to 120 s, static",
        [_step(static)],
        least=0.95,
        most=1.05,
    )
    for policy in POLICIES:
        if policy == "static":
            continue
        added = Estimate(tuple(each.added_s for each in courses[policy])).interval
        yield judge(
            f"a second queue is added at about 120 s (fig. 11; {policy})",
            "time of the first addition, s",
            [added],
            least=110,
            most=130,
        )
        yield judge(
            f"it raises the rate from 1.9 to 3.7, by 1.95 (fig. 11; {policy})",
            "rate from 160 to 240 s / from 90 to 120 s",
            [_step(courses[policy])],
            least=1.85,
            most=2.05,
        )
    yield judge(
        "dynamic provisioning delivers more than static (fig. 10 and 11)",
        "rate from 160 to 240 s, dynamic / static",
        [ratio(*(_mean(courses[policy]) for policy in ("dynamic", "static")))],
        least=1.0,
    )


def _mean(courses: list[SimulatedCourse]) -> Interval:
    return Estimate(tuple(each.mean(AFTER_S) for each in courses)).interval
