"""What no model can mean is refused with its place; nothing gives a silent wrong number."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.models.simulation import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    JobType,
    MessageClass,
    Network,
    Path,
    Run,
    Station,
    Tandem,
    Task,
    by_moments,
    in_sequence,
    simulate_network,
    simulate_tandem,
)

ONE = Exponential(1.0)
WORK = Station("work", 1, ONE)


def tandem(**changed: object) -> Tandem:
    fields: dict[str, object] = {
        "arrival": ONE,
        "sender": ONE,
        "broker": ONE,
        "sender_threads": 2,
        "broker_threads": 2,
    }
    return Tandem(**(fields | changed))  # type: ignore[arg-type]


def job(*tasks: Task) -> JobType:
    return JobType("job", ONE, (Path(tasks),))


REFUSED: dict[str, Callable[[], object]] = {
    "Exponential.mean: -1": lambda: Exponential(-1),
    "Exponential.mean: 0": lambda: Exponential(0),
    "Exponential.mean: nan": lambda: Exponential(math.nan),
    "Exponential.mean: inf": lambda: Exponential(math.inf),
    "Exponential.mean: 'fast'": lambda: Exponential("fast"),  # type: ignore[arg-type]
    "Exponential.mean: True": lambda: Exponential(True),
    "Exponential.mean: None": lambda: Exponential(None),  # type: ignore[arg-type]
    "Deterministic.mean: -0.5": lambda: Deterministic(-0.5),
    "Erlang.stages: 0": lambda: Erlang(1.0, 0),
    "Erlang.stages: 1.5": lambda: Erlang(1.0, 1.5),  # type: ignore[arg-type]
    "Gamma.scv: 0": lambda: Gamma(1.0, 0),
    "HyperExponential.shares: .* sum to 1": lambda: HyperExponential((0.5, 0.4), (1.0, 2.0)),
    "HyperExponential.means: .* one mean for each": lambda: HyperExponential((1.0,), (1.0, 2.0)),
    r"HyperExponential.means\[1\]: -2": lambda: HyperExponential((0.5, 0.5), (1.0, -2.0)),
    "HyperExponential.shares: .* at least one": lambda: HyperExponential((), ()),
    "Empirical.values: .* at least one": lambda: Empirical(()),
    "Empirical.values: nan": lambda: Empirical((1.0, math.nan)),
    "scv: -1": lambda: by_moments(1.0, -1),
    "arrival: mean: 0": lambda: tandem(arrival=Deterministic(0.0)),
    "sender_threads: 0": lambda: tandem(sender_threads=0),
    "broker_threads: 2.5": lambda: tandem(broker_threads=2.5),
    "reliability: 0": lambda: tandem(reliability=0),
    "reliability: 1.01": lambda: tandem(reliability=1.01),
    "reliability: nan": lambda: tandem(reliability=math.nan),
    "order: 'fifo'": lambda: tandem(order="fifo"),
    "recovery: None": lambda: tandem(recovery=None),
    "visibility_timeout: 0.0": lambda: tandem(recovery="timer"),
    "link_delay: -1": lambda: tandem(link_delay=-1),
    "classes: 0": lambda: tandem(classes=()),
    "classes: .* names that differ": lambda: tandem(
        classes=(MessageClass("same", 0.5), MessageClass("same", 0.5))
    ),
    "classes: shares: .* sum to 1": lambda: tandem(
        classes=(MessageClass("one", 0.5), MessageClass("other", 0.6))
    ),
    "class 'one': priority: 0.5": lambda: MessageClass("one", 1.0, 0.5),  # type: ignore[arg-type]
    "station 'work': servers: 0": lambda: Station("work", 0),
    "job 'job': task 'one': station: 'play'": lambda: Network((WORK,), (job(Task("one", "play")),)),
    "job 'job': task 'one': service: None": lambda: Network(
        (Station("work", 1),), (job(Task("one", "work")),)
    ),
    r"path 0: task 'one': after: \['none'\]": lambda: job(Task("one", "work", after=("none",))),
    r"path 0: tasks: \['one', 'two'\] .* without a cycle": lambda: job(
        Task("one", "work", after=("two",)),
        Task("two", "work", after=("one",)),
        Task("three", "work"),
    ),
    "path 0: tasks: .* names that differ": lambda: job(Task("one", "work"), Task("one", "work")),
    "path 0: tasks: 0": lambda: job(),
    "stations: 0": lambda: Network((), (in_sequence("job", ONE, ["work"]),)),
    "jobs: 0": lambda: Network((WORK,), ()),
    "horizon: 0": lambda: Run(0),
    "warm_up: 'soon'": lambda: Run(1.0, "soon"),  # type: ignore[arg-type]
    "replications: 0": lambda: Run(1.0, replications=0),
    "seed: -1": lambda: Run(1.0, seed=-1),
    "confidence: 1.0": lambda: Run(1.0, confidence=1.0),
    "workers: 0": lambda: Run(1.0, workers=0),
    "slices: 0": lambda: Run(1.0, slices=0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_wrong_input_is_refused_with_its_place(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()


@pytest.mark.parametrize("probability", [0, 1, -0.5, math.nan])
def test_quantile_of_no_probability_is_refused(probability: float) -> None:
    found = simulate_tandem(tandem(), Run(5.0, replications=2))
    with pytest.raises(ValueError, match="quantile"):
        found.quantile(probability)


def is_positive(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


numbers = st.one_of(st.floats(), st.integers(-3, 3), st.none())


@given(numbers, numbers, numbers)
def test_any_number_is_refused_or_gives_figures_that_can_be(
    mean: float, threads: int, reliability: float
) -> None:
    def model() -> Tandem:
        return tandem(
            sender=Exponential(mean),
            sender_threads=threads,
            broker=Deterministic(0.5),
            reliability=reliability,
        )

    can_be = is_positive(mean) and is_positive(threads) and is_positive(reliability)
    if not can_be or threads != int(threads) or threads > 1_000_000 or reliability > 1:
        with pytest.raises(ValueError, match="is expected"):
            model()
        return
    found = simulate_tandem(model(), Run(20.0, replications=2))
    assert 0 <= found.sender_busy.mean <= 1
    assert 0 <= found.broker_busy.mean <= 1
    assert not found.messages or 0.5 <= found.sojourn.mean <= 20


def test_job_of_a_single_moment_is_done_at_once() -> None:
    network = Network(
        (Station("work", 1, Deterministic(0.0)),), (in_sequence("job", ONE, ["work"]),)
    )
    found = simulate_network(network, Run(50.0, replications=2))
    assert found.sojourn.mean == 0
    assert found.in_system.mean == 0
