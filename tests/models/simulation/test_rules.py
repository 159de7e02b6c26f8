"""Stations with rules and arrivals by a process: nothing is lost, bounds are kept, and refusals."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.models.arrivals import Arrivals, Batches, ModulatedPoisson, RateSteps
from dovemq.models.distributions import Deterministic, Exponential, Gamma
from dovemq.models.errors import ModelError
from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, chain, timed_job, timed_topic
from dovemq.models.simulation import SimulationRun, simulate_network, simulate_tandem
from dovemq.models.simulation.network.state import EVENTS
from dovemq.models.topic_rules import TopicRules
from dovemq.models.vma.parameters import PAPER

ONE = Exponential(1.0)
RUN = SimulationRun(60.0, replications=1, record_rows_max=200_000)
RULES = (
    TopicRules(),
    TopicRules("ps"),
    TopicRules("ps", room=4),
    TopicRules("preemptive"),
    TopicRules("preemptive", room=5, retry=Exponential(0.5), retry_share=0.5),
    TopicRules(room=4),
    TopicRules(room=4, patience=Gamma(0.5, 0.3), retry=Deterministic(0.3), retry_share=0.6),
    TopicRules(patience=Exponential(0.2)),
)
ARRIVALS: tuple[Arrivals, ...] = (
    Exponential(0.4),
    RateSteps((1.0, 4.0), (3.0, 2.0)),
    ModulatedPoisson((0.5, 5.0), ((0.0, 0.3), (0.5, 0.0))),
    Batches(Exponential(1.0), 3.0, "geometric"),
    Batches(RateSteps((0.0, 1.0), (2.0, 2.0), linear=True), 4),
)


@st.composite
def ruled_networks(draw: st.DrawFn) -> JobNetwork:
    topics = tuple(
        timed_topic(name, Exponential(0.3), draw(st.integers(1, 3)), draw(st.sampled_from(RULES)))
        for name in ("first", "second")
    )
    jobs = []
    for kind in range(2):
        tasks = (
            JobTask("start", "first", (), None, kind),
            JobTask("left", "second", ("start",), None, draw(st.integers(0, 1))),
            JobTask("right", "first", ("start",), Deterministic(0.2)),
            JobTask("end", "second", ("left", "right")),
        )
        jobs.append(timed_job(f"type {kind}", draw(st.sampled_from(ARRIVALS)), JobRoute(tasks)))
    return JobNetwork(topics, tuple(jobs))


@given(ruled_networks(), st.integers(0, 1_000))
def test_jobs_are_done_lost_or_under_way_and_stations_keep_their_bounds(
    network: JobNetwork, seed: int
) -> None:
    run = SimulationRun(60.0, replications=1, seed=seed, record_rows_max=200_000)
    found = simulate_network(network, run)
    assert len(found.record) < run.record_rows_max
    under_way: set[int] = set()
    serving: dict[int, set[tuple[int, int]]] = {0: set(), 1: set()}
    left = 0
    for _, job, event, _, task, station in found.record.tolist():
        rules, consumers = network.topics[station].rules, network.topics[station].consumers
        match EVENTS[event]:
            case "arrived":
                under_way.add(job)
            case "started":
                serving[station].add((job, task))
                most = consumers if rules.discipline != "ps" else rules.room or math.inf
                assert len(serving[station]) <= most
            case "ended" | "interrupted":
                serving[station].remove((job, task))
            case "done" | "lost":
                under_way.remove(job)
                left += 1
                assert not any(job == each for held in serving.values() for each, _ in held)
    assert left == sum(
        int((found.record["event"] == EVENTS.index(n)).sum()) for n in ("done", "lost")
    )
    present = found.in_system.mean * run.horizon
    assert (present > 0) == bool(len(found.record))


def test_rules_do_not_change_random_numbers_and_unused_rules_no_figure() -> None:
    def with_rules(rules: TopicRules) -> float:
        topics = (timed_topic("first", Exponential(0.3), 2, rules),)
        job = timed_job("job", Exponential(0.25), JobRoute(chain("first")))
        return simulate_network(JobNetwork(topics, (job,)), SimulationRun(500.0)).sojourn.mean

    plain = with_rules(TopicRules())
    assert with_rules(TopicRules(room=10**9)) == plain
    assert with_rules(TopicRules("preemptive")) == plain
    assert with_rules(TopicRules(patience=Deterministic(1e9))) == plain


def test_patience_far_beyond_the_run_needs_no_room_for_its_end() -> None:
    """Each wait leaves an event behind that no longer holds; they are removed, not kept."""
    rules = TopicRules(patience=Deterministic(1e9))
    topics = (timed_topic("only", Exponential(1.0), 1, rules),)
    job = timed_job("job", Exponential(1.0), JobRoute(chain("only")))
    found = simulate_network(JobNetwork(topics, (job,)), SimulationRun(20_000.0, replications=1))
    assert found.stations["only"].abandoned.mean == 0.0


def two(rules: TopicRules, before: TopicRules, *tasks: JobTask) -> JobNetwork:
    topics = (timed_topic("a", ONE, 1, before), timed_topic("b", ONE, 1, rules))
    routes = JobRoute(tasks or chain("a", "b"))
    return JobNetwork(topics, (timed_job("job", ONE, routes),))


def rules_of(**fields: Any) -> TopicRules:
    return TopicRules(**fields)


BLOCKING = TopicRules(room=2, full="blocked")
REFUSED: dict[str, Callable[[], object]] = {
    "discipline 'lifo' is none of": lambda: two(rules_of(discipline="lifo"), TopicRules()),
    "full 'wait' is none of": lambda: two(rules_of(full="wait"), TopicRules()),
    "topic b: room is 0": lambda: two(TopicRules(room=0), TopicRules()),
    "needs a room": lambda: two(TopicRules(full="blocked"), TopicRules()),
    "patience is for fcfs, not for ps": lambda: two(TopicRules("ps", patience=ONE), TopicRules()),
    "retry is for topics that refuse": lambda: two(TopicRules(retry=ONE), TopicRules()),
    "topic b: retry is 0": lambda: two(TopicRules(room=1, retry=Deterministic(0.0)), TopicRules()),
    "topic b: retry_share is 2": lambda: two(TopicRules(room=1, retry_share=2.0), TopicRules()),
    "a cannot be blocked: its discipline": lambda: two(BLOCKING, TopicRules("ps")),
    "without fork or join": lambda: two(
        BLOCKING,
        TopicRules(),
        JobTask("x", "a"),
        JobTask("y", "b", ("x",)),
        JobTask("z", "b", ("x",)),
    ),
    "block each other for ever: . → . → .": lambda: two(BLOCKING, BLOCKING, *chain("a", "b", "a")),
    "block each other for ever: b → b": lambda: two(BLOCKING, TopicRules(), *chain("b", "b")),
    "arrival is RateSteps: .* independent times": lambda: simulate_tandem(
        replace(PAPER, arrival=RateSteps((30.3,), (1.0,))),  # type: ignore[arg-type]
        RUN,
    ),
    "one length for each rate": lambda: RateSteps((1.0,), (1.0, 2.0)),
    "one rate above 0": lambda: RateSteps((0.0,), (1.0,)),
    r"RateSteps.rates\[0\] is -1": lambda: RateSteps((-1.0,), (1.0,)),
    r"RateSteps.lengths\[0\] is 0": lambda: RateSteps((1.0,), (0.0,)),
    "at most 10000 times the mean": lambda: RateSteps((1.0, 0.0), (1.0, 1e9)),
    "a square of switching rates": lambda: ModulatedPoisson((1.0, 2.0), ((0.0, 1.0),)),
    "every state leads to every": lambda: ModulatedPoisson((1.0, 2.0), ((0.0, 1.0), (0.0, 0.0))),
    "rates of at most": lambda: ModulatedPoisson((1.0, 2.0), ((0.0, 1e9), (1e9, 0.0))),
    "Batches.size_mean is 2.5": lambda: Batches(ONE, 2.5),
    "Batches.size_mean is 0.5": lambda: Batches(ONE, 0.5, "geometric"),
    "Batches.sizes is 'poisson'": lambda: Batches(ONE, 2, "poisson"),  # type: ignore[arg-type]
    "a process of single": lambda: Batches(Batches(ONE, 2), 2),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("problem", REFUSED)
def test_invalid_rules_and_processes_are_refused(problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        REFUSED[problem]()
