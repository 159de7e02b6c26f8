"""Invalid input is refused by name; nothing gives a wrong number in silence."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.models.checks import NUMBER_MAX
from dovemq.models.distributions import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    by_moments,
)
from dovemq.models.errors import ModelError
from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, chain, timed_job, timed_topic
from dovemq.models.simulation import SimulationRun, simulate_network, simulate_tandem
from dovemq.models.vma.parameters import MessageClass, VmaParameters, timed_vma

ONE = Exponential(1.0)
WORK = timed_topic("work", ONE)
JOB = timed_job("job", ONE, JobRoute(chain("work")))
RUN = SimulationRun(5.0, replications=2)


def tandem(**changed: object) -> VmaParameters:
    fields: dict[str, object] = {
        "arrival": ONE,
        "sender": ONE,
        "broker": ONE,
        "sender_threads": 2,
        "broker_threads": 2,
    }
    return timed_vma(**(fields | changed))  # type: ignore[arg-type]


def network(*tasks: JobTask) -> JobNetwork:
    return JobNetwork((WORK,), (timed_job("job", ONE, JobRoute(tasks)),))


REFUSED: dict[str, Callable[[], object]] = {
    "Exponential.mean is -1": lambda: Exponential(-1),
    "Exponential.mean is 0": lambda: Exponential(0),
    "Exponential.mean is nan": lambda: Exponential(math.nan),
    "Exponential.mean is inf": lambda: Exponential(math.inf),
    "Exponential.mean is 'fast'": lambda: Exponential("fast"),  # type: ignore[arg-type]
    "Exponential.mean is True": lambda: Exponential(True),
    "Exponential.mean is None": lambda: Exponential(None),  # type: ignore[arg-type]
    "Deterministic.mean is -0.5": lambda: Deterministic(-0.5),
    "Erlang.stages is 0": lambda: Erlang(1.0, 0),
    "Erlang.stages is 1.5": lambda: Erlang(1.0, 1.5),  # type: ignore[arg-type]
    "Gamma.scv is 0": lambda: Gamma(1.0, 0),
    "HyperExponential: sum of the shares is 0.9": lambda: HyperExponential((0.5, 0.4), (1.0, 2.0)),
    "HyperExponential.means .* one mean for each": lambda: HyperExponential((1.0,), (1.0, 2.0)),
    r"HyperExponential.means\[1\] is -2": lambda: HyperExponential((0.5, 0.5), (1.0, -2.0)),
    "HyperExponential: sum of the shares is 0:": lambda: HyperExponential((), ()),
    "Empirical.values .* at least one": lambda: Empirical(()),
    r"Empirical.values\[1\] is nan": lambda: Empirical((1.0, math.nan)),
    "scv is -1": lambda: by_moments(1.0, -1),
    "arrival_rate is inf": lambda: tandem(arrival=Deterministic(0.0)),
    "sender_threads is 0": lambda: tandem(sender_threads=0),
    "broker_threads is 2.5": lambda: tandem(broker_threads=2.5),
    "reliability is .*0": lambda: tandem(reliability=0),
    "reliability is 1.01": lambda: tandem(reliability=1.01),
    "reliability is nan": lambda: tandem(reliability=math.nan),
    "order is 'fifo'": lambda: tandem(order="fifo"),
    "failure is None": lambda: tandem(failure=None),
    "visibility_timeout is 0": lambda: simulate_tandem(tandem(failure="timer"), RUN),
    "link_delay is -1": lambda: tandem(link_delay=-1),
    "classes: 0 were given": lambda: tandem(classes=()),
    "classes: the names .* must differ": lambda: tandem(
        classes=(MessageClass("same", 0.5), MessageClass("same", 0.5))
    ),
    "classes: sum of the shares is 1.1": lambda: tandem(
        classes=(MessageClass("one", 0.5), MessageClass("other", 0.6))
    ),
    "class 'one': priority is 0.5": lambda: MessageClass("one", 1.0, 0.5),  # type: ignore[arg-type]
    "arrival_rate is 2: 1, as its distribution says": lambda: replace(tandem(), arrival_rate=2.0),
    "topic work: consumers is 0": lambda: JobNetwork((timed_topic("work", ONE, 0),), (JOB,)),
    "topic work: service_rate is 3": lambda: JobNetwork((replace(WORK, service_rate=3.0),), (JOB,)),
    "job job, task one: no topic is named 'play'": lambda: network(JobTask("one", "play")),
    "task one: comes after 'none'": lambda: network(JobTask("one", "work", after=("none",))),
    "tasks one, two wait in a circle": lambda: network(
        JobTask("one", "work", after=("two",)),
        JobTask("two", "work", after=("one",)),
        JobTask("three", "work"),
    ),
    "job job: tasks: the names": lambda: network(JobTask("one", "work"), JobTask("one", "work")),
    "job job: tasks: 0 were given": lambda: network(),
    "topics: 0 were given": lambda: JobNetwork((), (JOB,)),
    "jobs: 0 were given": lambda: JobNetwork((WORK,), ()),
    "horizon is 0": lambda: SimulationRun(0),
    "warm_up is 'soon'": lambda: SimulationRun(1.0, "soon"),  # type: ignore[arg-type]
    "replications is 0": lambda: SimulationRun(1.0, replications=0),
    "seed is -1": lambda: SimulationRun(1.0, seed=-1),
    "confidence is 1:": lambda: SimulationRun(1.0, confidence=1.0),
    "workers is 0": lambda: SimulationRun(1.0, workers=0),
    "slices is 0": lambda: SimulationRun(1.0, slices=0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_invalid_input_is_refused_by_name(message: str) -> None:
    with pytest.raises(ModelError, match=message):
        REFUSED[message]()


@pytest.mark.parametrize("probability", [0, 1, -0.5, math.nan])
def test_quantile_of_an_invalid_probability_is_refused(probability: float) -> None:
    found = simulate_tandem(tandem(), RUN)
    with pytest.raises(ModelError, match="quantile"):
        found.quantile(probability)


def is_positive(value: float | None) -> bool:
    return value is not None and 1 / NUMBER_MAX <= value <= NUMBER_MAX


numbers = st.one_of(st.floats(), st.integers(-3, 3), st.none())


@given(numbers, numbers, numbers)
def test_any_number_is_refused_or_gives_possible_figures(
    mean: float, threads: int, reliability: float
) -> None:
    def model() -> VmaParameters:
        return tandem(
            sender=Exponential(mean),
            sender_threads=threads,
            broker=Deterministic(0.5),
            reliability=reliability,
        )

    possible = is_positive(mean) and is_positive(threads) and is_positive(reliability)
    if not possible or threads != int(threads) or threads > 1_000_000 or reliability > 1:
        with pytest.raises(ModelError, match="is needed"):
            model()
        return
    found = simulate_tandem(model(), SimulationRun(20.0, replications=2))
    assert 0 <= found.sender_busy.mean <= 1
    assert 0 <= found.broker_busy.mean <= 1
    assert not found.done or 0.5 <= found.sojourn.mean <= 20


def test_job_without_service_time_is_done_at_once() -> None:
    topic = timed_topic("work", Deterministic(0.0))
    found = simulate_network(JobNetwork((topic,), (JOB,)), SimulationRun(50.0, replications=2))
    assert found.sojourn.mean == 0
    assert found.in_system.mean == 0
