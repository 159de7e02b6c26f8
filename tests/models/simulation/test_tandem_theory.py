"""The kernel of the tandem against theory: each figure lies in its 99 % interval at fixed seeds."""

from dataclasses import replace

import pytest

from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
)
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.vma.parameters import MessageClass, VmaParameters, timed_vma
from tests.models.simulation import theory
from tests.models.simulation.records import events_of

ARRIVAL_RATE = 30.3
SERVICE_RATE = 10.0
AT_ONCE = Deterministic(0.0)
RUN = SimulationRun(horizon=2_000, warm_up=100, replications=10, seed=6, confidence=0.99)


def vma(threads: int, reliability: float, **more: object) -> VmaParameters:
    service = Exponential(1 / SERVICE_RATE)
    arrival = Exponential(1 / ARRIVAL_RATE)
    plain = timed_vma(arrival, service, service, threads, threads, reliability)
    return replace(plain, **more)  # type: ignore[arg-type]


def only_sender(service: Distribution, rate: float, threads: int) -> VmaParameters:
    """A single queue: what reaches the broker is received at once."""
    return timed_vma(Exponential(1 / rate), service, AT_ONCE, threads, 1)


@pytest.mark.parametrize("reliability", [0.99, 0.88])
@pytest.mark.parametrize("threads", [4, 5, 6, 7, 8, 9, 10])
def test_out_of_order_delivery_takes_the_time_of_equation_8(
    threads: int, reliability: float
) -> None:
    found = simulate_tandem(vma(threads, reliability), RUN)
    expected = theory.sojourn_vma(ARRIVAL_RATE, SERVICE_RATE, threads, reliability)
    assert found.sojourn.holds(expected)
    assert found.in_system.holds(ARRIVAL_RATE * expected)


@pytest.mark.parametrize(("rate", "threads"), [(0.5, 1), (0.9, 1), (2.1, 3), (9.0, 12)])
def test_sender_alone_is_an_mmc_queue(rate: float, threads: int) -> None:
    found = simulate_tandem(only_sender(Exponential(1.0), rate, threads), RUN)
    wait = theory.wait_mmc(rate, 1.0, threads)
    assert found.sojourn.holds(wait + 1)
    assert found.sender_waiting.holds(rate * wait)
    assert found.sender_busy.holds(rate / threads)


@pytest.mark.parametrize(
    "service",
    [
        Deterministic(0.7),
        Erlang(0.7, 3),
        Gamma(0.7, 0.3),
        Gamma(0.7, 1.7),
        HyperExponential((0.25, 0.75), (1.6, 0.4)),
    ],
    ids=lambda service: type(service).__name__,
)
def test_one_sender_thread_is_an_mg1_queue(service: Distribution) -> None:
    found = simulate_tandem(only_sender(service, 1.0, 1), RUN)
    expected = theory.wait_mg1(1.0, service.mean, service.scv) + service.mean
    assert found.sojourn.holds(expected)


def test_share_of_time_with_any_busy_thread_is_that_of_the_birth_death_chain() -> None:
    found = simulate_tandem(only_sender(Exponential(1.0), 1.2, 2), RUN)
    load = 1.2 / 2
    empty = (1 - load) / (1 + load)
    assert found.sender_any_busy.holds(1 - empty)


@pytest.mark.parametrize("threads", [1, 3])
def test_classes_wait_by_priority_as_cobham_says(threads: int) -> None:
    classes = (
        MessageClass("late", 0.5, 7),
        MessageClass("soon", 0.3, -2),
        MessageClass("then", 0.2, 0),
    )
    rate = 0.8 * threads
    tandem = timed_vma(
        Exponential(1 / rate), Exponential(1.0), AT_ONCE, threads, 1, classes=classes
    )
    found = simulate_tandem(tandem, RUN)
    waits = theory.waits_by_priority([0.3 * rate, 0.2 * rate, 0.5 * rate], 1.0, threads)
    for name, wait in zip(("soon", "then", "late"), waits, strict=True):
        assert found.sojourn_of[name].holds(wait + 1)


@pytest.mark.parametrize("rate", [3.0, 30.3])
def test_in_order_delivery_with_many_threads_tends_to_its_closed_form(rate: float) -> None:
    tandem = timed_vma(
        Exponential(1 / rate), Exponential(0.1), Exponential(0.1), 200, 200, 0.9, order="in"
    )
    found = simulate_tandem(tandem, RUN)
    assert found.sojourn.holds(theory.sending_in_order(rate, 10.0) + 0.1 / 0.9)


def test_order_costs_time_and_leaves_the_work_as_it_is() -> None:
    free, bound = (simulate_tandem(vma(6, 0.99, order=order), RUN) for order in ("out", "in"))
    assert bound.sojourn.low > free.sojourn.high
    assert bound.broker_busy.holds(free.broker_busy.mean)
    assert bound.broker_any_busy.high < free.broker_any_busy.low


def test_link_is_passed_once_and_then_at_each_attempt() -> None:
    tandem = timed_vma(
        Exponential(1.0), Deterministic(0.1), Deterministic(0.2), 50, 50, 0.8, link_delay=0.05
    )
    found = simulate_tandem(tandem, RUN)
    assert found.sojourn.holds(0.1 + 0.05 + (0.2 + 0.05) / 0.8)
    assert found.leases.holds(1 / 0.8)


def test_timer_adds_the_rest_of_the_timeout_to_every_loss() -> None:
    tandem = timed_vma(
        Exponential(1.0),
        Deterministic(0.1),
        Deterministic(0.2),
        50,
        50,
        0.8,
        failure="timer",
        visibility_timeout=2.0,
    )
    found = simulate_tandem(tandem, RUN)
    assert found.sojourn.holds(0.1 + 0.2 + 0.2 / 0.8 * 2.0)
    assert found.expired.holds(0.2 / 0.8)
    assert found.repeated.mean == 0


def test_timeout_shorter_than_the_service_makes_the_broker_send_twice() -> None:
    """Leases at 0, 1, 2 of a service of 2.5, that of 0 is received: two receives are repeated."""
    tandem = timed_vma(
        Exponential(10.0),
        AT_ONCE,
        Deterministic(2.5),
        1,
        1000,
        failure="timer",
        visibility_timeout=1.0,
    )
    found = simulate_tandem(tandem, RUN)
    assert found.sojourn.mean == pytest.approx(2.5)
    assert found.leases.mean == pytest.approx(3, rel=0.02)
    assert found.repeated.mean == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("order", ["in", "out"])
@pytest.mark.parametrize("failure", ["ideal", "timer"])
def test_number_in_the_system_is_rate_times_sojourn(order: str, failure: str) -> None:
    timeout = 0.4 if failure == "timer" else 0.0
    more = {"order": order, "failure": failure, "visibility_timeout": timeout, "link_delay": 0.01}
    found = simulate_tandem(vma(5, 0.88, **more), RUN)
    assert found.in_system.mean == pytest.approx(
        found.throughput.mean * found.sojourn.mean, rel=2e-3
    )


def test_acknowledgement_comes_before_a_free_thread_of_the_same_instant() -> None:
    """The timeout of message 0 ends at 3; its acknowledgement and a free thread come at 3.5."""
    tandem = timed_vma(
        Deterministic(0.5),
        AT_ONCE,
        Deterministic(1.0),
        1,
        1,
        failure="timer",
        visibility_timeout=1.5,
        link_delay=1.0,
    )
    run = SimulationRun(4.0, replications=1, slices=1, record_rows_max=100)
    leased = [(time, each) for time, event, each, _ in events_of(tandem, run) if event == "leased"]
    assert leased == [(1.5, 0), (2.5, 1), (3.5, 2)]
