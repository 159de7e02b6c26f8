"""Invariants of messages and jobs, event by event, for random models."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovemq.models.distributions import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
)
from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, timed_job, timed_topic
from dovemq.models.simulation import SimulationRun, simulate_network, simulate_tandem
from dovemq.models.simulation.network.state import EVENTS as JOB_EVENTS
from dovemq.models.vma.parameters import MessageClass, VmaParameters, timed_vma
from tests.models.simulation.records import (
    counted,
    events_of,
    most_at_once,
    sending_replayed,
    times_of,
)

ROWS_MAX = 1 << 16

means = st.floats(0.05, 2.0)
distributions = st.one_of(
    means.map(Exponential),
    means.map(Deterministic),
    st.builds(Erlang, means, st.integers(1, 20)),
    st.builds(Gamma, means, st.floats(0.1, 5)),
    st.builds(lambda one, other: HyperExponential((0.3, 0.7), (one, other)), means, means),
    st.lists(means, min_size=1, max_size=5).map(tuple).map(Empirical),
)
classes = st.lists(st.integers(-1, 1), min_size=1, max_size=3).map(
    lambda priorities: tuple(
        MessageClass(f"class {place}", 1 / len(priorities), priority)
        for place, priority in enumerate(priorities)
    )
)


def _tandem(*, failure: str, visibility_timeout: float, **others: Any) -> VmaParameters:
    """Only a timer has a timeout."""
    timeout = visibility_timeout if failure == "timer" else 0.0
    return timed_vma(failure=failure, visibility_timeout=timeout, **others)


tandems = st.builds(
    _tandem,
    arrival=distributions,
    sender=distributions,
    broker=distributions,
    sender_threads=st.integers(1, 6),
    broker_threads=st.integers(1, 6),
    reliability=st.floats(0.2, 1.0),
    order=st.sampled_from(("in", "out")),
    failure=st.sampled_from(("ideal", "timer")),
    visibility_timeout=st.floats(0.01, 3.0),
    link_delay=st.sampled_from((0.0, 0.0, 0.1, 1.5)),
    classes=classes,
)
seeds = st.integers(0, 2**63 - 1)
kernels = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def short(seed: int) -> SimulationRun:
    return SimulationRun(60.0, replications=1, seed=seed, slices=7, record_rows_max=ROWS_MAX)


@kernels
@given(tandems, seeds)
def test_every_message_is_sent_once_and_received_for_the_first_time_once(
    tandem: VmaParameters, seed: int
) -> None:
    events = events_of(tandem, short(seed))
    assert len(events) < ROWS_MAX
    assert all(before[0] <= after[0] for before, after in itertools.pairwise(events))
    for name in ("arrived", "send_started", "sent", "received"):
        messages = [message for _, event, message, _ in events if event == name]
        assert len(set(messages)) == len(messages)
    stages = [times_of(events, name) for name in ("arrived", "send_started", "sent", "leased")]
    stages.append(times_of(events, "received"))
    for before, after in itertools.pairwise(stages):
        assert all(before[message] <= time for message, time in after.items())


@kernels
@given(tandems, seeds)
def test_no_more_threads_are_busy_than_there_are(tandem: VmaParameters, seed: int) -> None:
    events = events_of(tandem, short(seed))
    assert most_at_once(events, "send_started", "sent") <= tandem.sender_threads
    assert most_at_once(events, "leased", "served") <= tandem.broker_threads


@kernels
@given(tandems, seeds)
def test_what_is_leased_is_served_and_then_lost_or_received(
    tandem: VmaParameters, seed: int
) -> None:
    events = events_of(tandem, short(seed))
    number = counted(events)
    on_the_link = number["served"] - number["lost"] - number["received"] - number["repeated"]
    assert 0 <= number["leased"] - number["served"] <= tandem.broker_threads
    assert on_the_link == 0 if not tandem.link_delay else on_the_link >= 0
    if tandem.failure == "ideal":
        assert number["repeated"] == number["expired"] == 0
        assert number["leased"] <= number["sent"] + number["lost"]
    else:
        assert number["leased"] <= number["sent"] + number["expired"]


@kernels
@given(tandems, seeds)
def test_message_is_leased_again_only_after_it_became_visible_again(
    tandem: VmaParameters, seed: int
) -> None:
    again = "lost" if tandem.failure == "ideal" else "expired"
    visible: set[int] = set()
    received: set[int] = set()
    for _, event, message, _ in events_of(tandem, short(seed)):
        if event == "leased":
            assert message in visible
            assert message not in received
            visible.remove(message)
        elif event in (again, "sent"):
            visible.add(message)
        elif event == "received":
            received.add(message)
            visible.discard(message)


@kernels
@given(tandems, seeds)
def test_timeout_ends_when_it_should(tandem: VmaParameters, seed: int) -> None:
    leased: dict[int, float] = {}
    for time, event, message, _ in events_of(tandem, short(seed)):
        if event == "leased":
            leased[message] = time
        elif event == "expired":
            assert time - leased[message] == pytest.approx(tandem.visibility_timeout)


@kernels
@given(tandems, seeds)
def test_order_where_kept_is_that_of_production_within_a_priority(
    tandem: VmaParameters, seed: int
) -> None:
    bound = replace(tandem, order="in")
    events = events_of(bound, short(seed))
    for priority in {each.priority for each in bound.classes}:
        level = {place for place, each in enumerate(bound.classes) if each.priority == priority}
        arrived = [
            message for _, event, message, kind in events if event == "arrived" and kind in level
        ]
        first_leased = [
            message for message in times_of(events, "leased") if message in set(arrived)
        ]
        assert first_leased == arrived[: len(first_leased)]


@kernels
@given(tandems, seeds)
def test_no_thread_of_the_broker_idles_while_it_may_start_something(
    tandem: VmaParameters, seed: int
) -> None:
    free = replace(tandem, order="out", link_delay=0.0)
    again = "lost" if free.failure == "ideal" else "expired"
    visible: set[int] = set()
    busy = 0
    events = events_of(free, short(seed))
    for (time, event, message, _), (later, *_) in itertools.pairwise(events):
        busy += (event == "leased") - (event == "served")
        if event == "leased":
            visible.remove(message)
        elif event in (again, "sent"):
            visible.add(message)
        elif event == "received":
            visible.discard(message)
        assert not visible or busy == free.broker_threads or later == time


@kernels
@given(tandems, seeds)
def test_sending_is_first_come_first_served(tandem: VmaParameters, seed: int) -> None:
    events = events_of(replace(tandem, classes=(MessageClass("only"),)), short(seed))
    sent = times_of(events, "sent")
    started = times_of(events, "send_started")
    arrived = times_of(events, "arrived")
    whole = [message for message in started if message in sent]
    prefix = list(itertools.takewhile(lambda pair: pair[0] == pair[1], enumerate(sorted(whole))))
    messages = [message for _, message in prefix]
    services = [sent[message] - started[message] for message in messages]
    expected = sending_replayed(
        [arrived[message] for message in messages], services, int(tandem.sender_threads)
    )
    assert [started[message] for message in messages] == pytest.approx(expected)


@kernels
@given(tandems, seeds, st.integers(1, 40))
def test_figures_do_not_depend_on_how_time_is_sliced(
    tandem: VmaParameters, seed: int, slices: int
) -> None:
    one, other = (
        simulate_tandem(tandem, SimulationRun(60.123, replications=2, seed=seed, slices=number))
        for number in (1, slices)
    )
    assert one.events == other.events
    for name in ("sojourn", "waiting", "in_system", "sender_busy", "broker_any_busy"):
        found, expected = getattr(one, name).values, getattr(other, name).values
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert (one.histogram.counts == other.histogram.counts).all()


@st.composite
def networks(draw: st.DrawFn) -> JobNetwork:
    names = ["first", "second", "third"][: draw(st.integers(1, 3))]
    stations = tuple(
        timed_topic(name, draw(distributions), draw(st.integers(1, 4))) for name in names
    )
    jobs = []
    for kind in range(draw(st.integers(1, 3))):
        count = draw(st.integers(1, 2))
        paths = tuple(JobRoute(draw(graphs(names)), 1 / count) for _ in range(count))
        jobs.append(timed_job(f"type {kind}", draw(distributions), *paths))
    return JobNetwork(stations, tuple(jobs))


@st.composite
def graphs(draw: st.DrawFn, stations: list[str]) -> tuple[JobTask, ...]:
    tasks: list[JobTask] = []
    for place in range(draw(st.integers(1, 5))):
        earlier = st.lists(st.sampled_from(tasks), max_size=3) if tasks else st.just([])
        after = tuple({task.name for task in draw(earlier)})
        station = draw(st.sampled_from(stations))
        tasks.append(JobTask(f"task {place}", station, after, None, draw(st.integers(0, 1))))
    return tuple(draw(st.permutations(tasks)))


@kernels
@given(networks(), seeds)
def test_every_task_of_a_job_runs_once_after_those_that_it_waits_for(
    network: JobNetwork, seed: int
) -> None:
    record = simulate_network(network, short(seed)).record
    assert len(record) < ROWS_MAX
    ended: dict[int, dict[int, int]] = {}
    done: set[int] = set()
    busy = dict.fromkeys(range(len(network.topics)), 0)
    for _, job, event, _, task, station in record.tolist():
        tasks = ended.setdefault(job, {})
        assert job not in done
        match JOB_EVENTS[event]:
            case "ready":
                assert task not in tasks
            case "started":
                tasks[task] = 0
                busy[station] += 1
                assert busy[station] <= network.topics[station].consumers
            case "ended":
                tasks[task] += 1
                busy[station] -= 1
            case "done":
                assert set(tasks.values()) == {1}
                done.add(job)


@kernels
@given(networks(), seeds)
def test_jobs_that_arrived_are_done_or_under_way(network: JobNetwork, seed: int) -> None:
    found = simulate_network(network, short(seed))
    number = {name: int((found.record["event"] == at).sum()) for at, name in enumerate(JOB_EVENTS)}
    jobs = {
        name: found.record["job"][found.record["event"] == at] for at, name in enumerate(JOB_EVENTS)
    }
    assert set(jobs["done"]) <= set(jobs["arrived"])
    assert number["done"] == found.done
    assert found.events == number["arrived"] + number["started"] + number["ended"]
    assert number["ready"] >= number["started"] >= number["ended"]
