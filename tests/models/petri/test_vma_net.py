"""The `vma` net: the formula of the paper, both orders, both modes, classes and services."""

import math
from dataclasses import replace

import pytest

from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Pareto,
    Weibull,
)
from dovemq.models.petri import Collector, Laboratory, NetInvalid, Simulation, checked
from dovemq.models.petri.vma import VmaFigures, simulate_vma, vma_monitors, vma_net
from dovemq.models.vma.parameters import PAPER, MessageClass, Order, VmaParameters
from tests.models.petri.queueing import sojourn, vma_delivery

RATE = 10.0
ORDERS: tuple[Order, Order] = ("in", "out")


def _simulated(given: VmaParameters, seconds: float = 60, count: int = 6) -> VmaFigures:
    return simulate_vma(
        given, replications=count, duration_s=seconds, warmup_s=5, seed=2, confidence=0.99
    )


@pytest.mark.parametrize(("threads", "reliability"), [(4, 0.99), (5, 0.88), (7, 0.99), (10, 0.88)])
def test_delivery_time_agrees_with_the_formula(threads: int, reliability: float) -> None:
    given = replace(PAPER, sender_threads=threads, broker_threads=threads, reliability=reliability)
    figures = _simulated(given, seconds=60, count=8)
    assert figures.delivery_time_s.holds(vma_delivery(30.3, RATE, threads, threads, reliability))
    assert figures.throughput_per_s.holds(30.3)
    assert figures.broker_utilisation.holds(30.3 / reliability / RATE / threads)


def test_there_are_26_monitors() -> None:
    given = PAPER
    assert len(vma_monitors(given, 100_000)) == 26


def test_no_message_is_lost_or_duplicated_inside_the_net() -> None:
    given = replace(PAPER, reliability=0.7, sender_threads=6, broker_threads=7)
    report = simulate_vma(given, replications=1, duration_s=50).report
    (run,) = report.runs
    count = {name: figure.count for name, figure in run.figures.items()}
    assert count["sent"] == count["delivered"] + count["lost"]
    assert count["lost"] == count["triggered"]
    assert count["delivered"] == count["cancelled"]
    assert count["duplicate"] == 0
    assert 0 <= count["got"] - count["sent"] <= 7
    assert run.figures["retransmissions"].mean == pytest.approx(0.3 / 0.7, rel=0.1)


def test_messages_start_in_order_only_if_order_is_kept() -> None:
    for order in ORDERS:
        given = replace(PAPER, order=order, reliability=1.0)
        simulation = Simulation(vma_net(given), seed=3, traced=True)
        got: list[int] = []
        while len(got) < 400:
            event = simulation.step()
            assert event is not None
            if event.transition.rpartition(".")[2].startswith("Get_"):
                got.append(event.binding["i"])
        assert (got == sorted(got)) == (order == "in")
        assert len(set(got)) == len(got)


def test_cost_of_order_with_many_threads_agrees_with_theory() -> None:
    """n → ∞: sender and resequencing take (1/μ)(Ein(r) + (1 − e^−r)/r), r = λ/μ."""
    given = replace(
        PAPER,
        order="in",
        sender_threads=200,
        broker_threads=200,
        reliability=1.0,
        arrival_rate=30.0,
    )
    figures = _simulated(given, seconds=60, count=6)
    load = 30.0 / RATE
    steps = 20_000
    ein = sum((1 - math.exp(-load * (k + 0.5) / steps)) / (k + 0.5) for k in range(steps))
    expected = (ein + (1 - math.exp(-load)) / load) / RATE + 1 / RATE
    assert figures.delivery_time_s.holds(expected)
    blocked = figures.report.interval("blocked").mean
    assert blocked > 1


def test_order_raises_delivery_time_and_not_the_work_of_the_broker() -> None:
    kept, free = (_simulated(replace(PAPER, order=order)) for order in ORDERS)
    assert kept.delivery_time_s.mean > 1.3 * free.delivery_time_s.mean
    assert kept.broker_utilisation.mean == pytest.approx(free.broker_utilisation.mean, rel=0.05)
    assert kept.broker_any_busy.mean < free.broker_any_busy.mean


def test_timer_adds_its_length_for_each_loss() -> None:
    given = replace(
        PAPER,
        failure="timer",
        visibility_timeout=5.0,
        reliability=0.8,
        broker_threads=20,
        sender_threads=20,
    )
    figures = _simulated(given, seconds=120, count=4)
    # A wait of V for each loss, less the service that goes on meanwhile: V covers the whole get.
    expected = 0.1 + 0.1 + 0.2 / 0.8 * 5.0
    assert figures.delivery_time_s.mean == pytest.approx(expected, rel=0.05)


def test_timer_shorter_than_the_service_delivers_twice() -> None:
    given = replace(
        PAPER,
        failure="timer",
        visibility_timeout=0.05,
        reliability=1.0,
        arrival_rate=5.0,
        broker_threads=30,
    )
    (run,) = simulate_vma(given, replications=1, duration_s=60).report.runs
    assert run.figures["duplicate"].count > 50
    assert run.figures["delivered"].count == (
        run.figures["duplicate"].count + run.figures["cancelled"].count
    )


def test_link_delay_counts_once_and_again_for_each_get() -> None:
    given = replace(PAPER, link_delay=1.0, sender_threads=10, broker_threads=10, reliability=0.88)
    plain = vma_delivery(30.3, RATE, 10, 10, 0.88)
    figures = _simulated(given, seconds=50)
    assert figures.delivery_time_s.holds(plain + 1 + 1 / 0.88)


def test_urgent_class_waits_less_by_cobham() -> None:
    """Non-preemptive priority at the sender alone: the broker has threads for all."""
    share, servers, arrivals = 0.4, 4, 34.0
    given = replace(
        PAPER,
        arrival_rate=arrivals,
        sender_threads=servers,
        broker_threads=60,
        reliability=1.0,
        classes=(MessageClass("urgent", share, 0), MessageClass("usual", 1 - share, 1)),
    )
    monitors = [
        Collector(name, "cloud_queue.Send_Proc.Enqueue", "now - m.AT", f"m.msgContent == {name!r}")
        for name in ("urgent", "usual")
    ]
    report = Laboratory(vma_net(given), monitors).replicate(
        6, until=105_000, warmup=5_000, seed=2, confidence=0.99
    )
    load = arrivals / RATE / servers
    wait = sojourn(servers, arrivals, RATE) - 1 / RATE
    first = wait * (1 - load) / (1 - load * share)
    second = first / (1 - load)
    assert report.interval("urgent").holds((first + 1 / RATE) * 1_000)
    assert report.interval("usual").holds((second + 1 / RATE) * 1_000)


@pytest.mark.parametrize(
    "service",
    [
        Exponential(0.1),
        Erlang(0.1, 3),
        Gamma(0.1, 1 / 0.7),
        HyperExponential((0.4, 0.6), (0.125, 1 / 12)),
        LogNormal(0.1, 0.8),
        Weibull(0.1, 1.5),
        Pareto(0.1, 4.0),
        Deterministic(0.1),
        Empirical((0.05, 0.1, 0.15)),
    ],
    ids=lambda service: type(service).__name__,
)
def test_utilisation_of_the_broker_depends_on_the_mean_service_time(service: Distribution) -> None:
    given = replace(
        PAPER, broker_rate=1 / service.mean, broker=service, broker_threads=8, reliability=1.0
    )
    figures = _simulated(given, seconds=40, count=4)
    busy = 30.3 * service.mean / 8
    assert figures.broker_utilisation.mean == pytest.approx(busy, rel=0.06)


def test_times_between_productions_may_have_any_distribution() -> None:
    given = replace(PAPER, arrival_rate=20.0, arrival=Deterministic(0.05), reliability=1.0)
    (run,) = simulate_vma(given, replications=1, duration_s=10).report.runs
    assert run.figures["delivered"].count == pytest.approx(200, abs=20)


def test_classes_of_different_priority_cannot_be_kept_in_order() -> None:
    classes = (MessageClass("a", 0.5), MessageClass("b", 0.5, 1))
    with pytest.raises(NetInvalid, match="need order out"):
        vma_net(replace(PAPER, order="in", classes=classes))


def test_net_has_the_pages_of_the_paper() -> None:
    net = checked(vma_net(replace(PAPER, order="in")))
    assert list(net.net.pages) == [
        "System", "Cloud_Queue", "Send_Proc", "Broker", "Visibility_Timeout", "Recv_Proc",
    ]  # fmt: skip
    assert net.place("cloud_queue.Recv_Proc.Known_Lost") is net.place("cloud_queue.Broker.Timer")
    assert net.place("cloud_queue.Queue_Index").members[0] == "cloud_queue.Queue_Index"
