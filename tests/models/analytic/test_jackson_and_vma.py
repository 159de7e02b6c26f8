"""Jackson networks and the tandem of `vma` against their Markov chains, and eq. 8 as printed."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from dovemq.models.analytic import in_order_limit, mmc, vma, vma_sensitivity
from dovemq.models.errors import ModelParameterInvalid, ModelSpecInvalid
from dovemq.models.vma.parameters import VmaParameters
from tests.models.chains import interval, open_measures, stationary

PAPER = VmaParameters(30.3, 10, 10, 5, 5, reliability=0.99)
ROOM = 60


def _tandem(rate: float, threads: tuple[int, int], fails: float) -> Any:
    """The chain of (messages at the sender, messages at the broker), cut far out."""

    def moves(state: Any) -> Iterator[tuple[Any, float]]:
        sender, broker = state
        if sender < ROOM:
            yield (sender + 1, broker), rate
        if sender and broker < ROOM:
            yield (sender - 1, broker + 1), float(min(sender, threads[0]))
        if broker:
            yield (sender, broker - 1), (1 - fails) * min(broker, threads[1])

    return stationary((0, 0), moves)


@pytest.mark.parametrize(("threads", "reliability"), [((1, 2), 0.9), ((2, 2), 0.7), ((3, 1), 1.0)])
def test_tandem_equals_its_chain(threads: tuple[int, int], reliability: float) -> None:
    chain = _tandem(0.45, threads, 1 - reliability)
    found = vma(VmaParameters(0.45, 1.0, 1.0, *threads, reliability=reliability))
    assert found.number == pytest.approx(sum(p * sum(s) for s, p in chain.items()), rel=1e-5)
    busy = sum(share for (_, broker), share in chain.items() if broker)
    assert found.broker.any_busy == pytest.approx(busy, rel=1e-6)
    waiting = sum(
        share * (max(sender - threads[0], 0) + max(broker - threads[1], 0))
        for (sender, broker), share in chain.items()
    )
    assert found.waiting == pytest.approx(waiting, rel=1e-4)


def test_given_up_messages_equal_their_chain() -> None:
    """Two gets at most: the broker's line holds first and second gets apart."""
    rate, fails, room = 0.3, 0.4, 12

    def moves(line: Any) -> Iterator[tuple[Any, float]]:
        if len(line) < room:
            yield (*line, 1), rate
        if line:
            yield line[1:], (1 - fails) if line[0] == 1 else 1.0
            if line[0] == 1:
                yield (*line[1:], 2), fails

    chain = stationary((), moves)
    found = vma(VmaParameters(rate, 1e6, 1.0, 1, 1, reliability=1 - fails, gets_max=2))
    mean = sum(len(line) * share for line, share in chain.items())
    assert found.gets == pytest.approx(1 + fails)
    assert found.delivered_share == pytest.approx(1 - fails**2)
    assert found.broker.number == pytest.approx(mean, rel=1e-3)


def test_tandem_is_a_jackson_network_with_feedback() -> None:
    model = vma(PAPER)
    network = open_measures([30.3, 0], [[0.0, 1.0], [0.0, 0.01]], [10, 10], [5, 5])
    assert network.visits == pytest.approx([1, 1 / 0.99])
    assert network.sojourn_time == pytest.approx(model.station_time)


def test_jackson_network_equals_its_chain() -> None:
    """Three stations that send to each other, the second with two servers."""
    outside, speeds, servers = (0.3, 0.1, 0.0), (1.0, 0.8, 1.2), (1, 2, 1)
    routes = np.array([[0.0, 0.5, 0.2], [0.1, 0.0, 0.4], [0.3, 0.0, 0.0]])
    room = 14

    def moves(state: Any) -> Iterator[tuple[Any, float]]:
        for here in range(3):
            if outside[here] and state[here] < room:
                yield _moved(state, None, here), outside[here]
            speed = speeds[here] * min(state[here], servers[here])
            if not speed:
                continue
            for there in range(3):
                if routes[here, there] and state[there] < room:
                    yield _moved(state, here, there), speed * float(routes[here, there])
            yield _moved(state, here, None), speed * float(1 - routes[here].sum())

    chain = stationary((0, 0, 0), moves)
    found = open_measures(outside, routes, speeds, servers)
    for station in range(3):
        mean = sum(state[station] * share for state, share in chain.items())
        assert float(found.stations[station].number) == pytest.approx(mean, rel=2e-3)


def _moved(state: Any, source: int | None, target: int | None) -> Any:
    counts = list(state)
    if source is not None:
        counts[source] -= 1
    if target is not None:
        counts[target] += 1
    return tuple(counts)


def test_figures_of_the_paper_are_sums_of_two_stations() -> None:
    threads = np.arange(4, 11)
    for reliability in (0.99, 0.88):
        found = vma(
            replace(PAPER, sender_threads=threads, broker_threads=threads, reliability=reliability)
        )
        sender, broker = mmc(30.3, 10, threads), mmc(30.3 / reliability, 10, threads)
        assert found.delivery_time == pytest.approx((sender.number + broker.number) / 30.3)
        assert found.stable.all()


def test_corrected_equation_is_littles_law_and_the_printed_one_is_not() -> None:
    right, printed = vma(PAPER), vma(PAPER, as_printed=True)
    assert right.station_time == pytest.approx(right.number / 30.3)
    excess = right.broker.waiting_time * (1 / 0.01 - 1 / 0.99)
    assert printed.station_time - right.station_time == pytest.approx(excess)


def test_passages_of_the_link_are_two_and_the_odds_of_failure() -> None:
    model = replace(PAPER, link_delay=2.0, reliability=0.88)
    assert vma(model).link_time == pytest.approx(2.0 * (2 + 0.12 / 0.88))
    assert vma(model, as_printed=True).link_time == pytest.approx(2.0 * 2.12)


def test_timer_adds_the_rest_of_the_timeout_per_failure() -> None:
    rng = np.random.default_rng(3)
    reliability, timeout, link = 0.8, 0.7, 0.1
    gets = rng.geometric(reliability, 100_000)
    rests = np.maximum(timeout - link - rng.exponential(0.1, gets.sum() - len(gets)), 0)
    added = np.zeros(len(gets))
    np.add.at(added, np.repeat(np.arange(len(gets)), gets - 1), rests)
    model = replace(
        PAPER,
        reliability=reliability,
        visibility_timeout=timeout,
        link_delay=link,
        failure="timer",
    )
    found = vma(model)
    mean, width = interval(added)
    assert abs(mean - float(found.timer_time)) < width
    assert found.early_expiry_probability == pytest.approx(np.exp(-6))
    parts = found.station_time + found.link_time + found.timer_time
    assert found.delivery_time == pytest.approx(parts)
    assert vma(replace(model, failure="ideal", visibility_timeout=0.0)).timer_time == 0


@pytest.mark.parametrize("load", [0.2, 3.03, 12.0])
def test_limit_in_order_equals_its_integral(load: float) -> None:
    """E[max over all earlier messages of what is left of their sending, and the own one]."""

    def later(time: float) -> float:
        """P(some earlier message or this one is still being sent after so long)."""
        earlier = np.exp(-load * np.exp(-time))
        return float(1 - (1 - np.exp(-time)) * earlier)

    area, _ = integrate.quad(later, 0, 60, limit=300)
    assert in_order_limit(load, 1.0, 1e12) == pytest.approx(area, rel=1e-7)


def test_limit_in_order_equals_a_long_run() -> None:
    rng = np.random.default_rng(11)
    arrivals = np.cumsum(rng.exponential(1 / 30.3, 200_000))
    ready = np.maximum.accumulate(arrivals + rng.exponential(0.1, len(arrivals)))
    mean, width = interval(ready - arrivals)
    assert abs(mean + 0.1 / 0.88 - float(in_order_limit(30.3, 10, 10, 0.88))) < width


@pytest.mark.parametrize(
    "more",
    [
        {"gets_max": 3},
        {"link_delay": 0.05},
        {"link_delay": 0.05, "failure": "timer", "visibility_timeout": 2.0},
    ],
)
def test_sensitivities_are_the_slopes_of_the_delivery_time(more: dict[str, Any]) -> None:
    model = VmaParameters(20.0, 9.0, 11.0, 4, 3, reliability=0.8, **more)
    found = vma_sensitivity(model)
    for name, exact in (
        ("arrival_rate", found.per_arrival_rate),
        ("sender_rate", found.per_sender_rate),
        ("broker_rate", found.per_broker_rate),
        ("reliability", found.per_reliability),
    ):
        value = float(getattr(model, name))
        times = [
            float(vma(_with(model, name, value * factor)).delivery_time)
            for factor in (1 - 1e-6, 1 + 1e-6)
        ]
        assert float(exact) == pytest.approx((times[1] - times[0]) / (2e-6 * value), rel=1e-4)
    gained = vma(replace(model, broker_threads=4)).delivery_time - vma(model).delivery_time
    assert found.per_broker_thread == pytest.approx(gained)


def _with(model: VmaParameters, name: str, value: Any) -> VmaParameters:
    return replace(model, **{name: value})


def test_overloaded_tandem_is_unstable_and_never_a_number() -> None:
    threads, reliability = np.array([3, 4]), np.array([0.9, 0.7])
    found = vma(replace(PAPER, sender_threads=threads, broker_threads=4, reliability=reliability))
    assert list(found.stable) == [False, False]
    assert np.isinf(found.delivery_time).all()


@pytest.mark.parametrize("reliability", [0.0, -0.1, 1.2, np.nan])
def test_impossible_reliability_is_refused_by_name(reliability: float) -> None:
    with pytest.raises(ModelParameterInvalid, match="reliability"):
        vma(replace(PAPER, reliability=reliability))


def test_printed_equation_cannot_be_asked_without_failures() -> None:
    with pytest.raises(ModelParameterInvalid, match="divides by 1 − reliability"):
        vma(replace(PAPER, reliability=1.0), as_printed=True)


@pytest.mark.parametrize(
    ("routing", "reason"),
    [
        ([[0, 1], [1, 0]], "never leave"),
        ([[0, 0.7], [0.2, 0.9]], "above 1"),
    ],
)
def test_impossible_routing_is_refused_with_its_station(
    routing: list[list[float]], reason: str
) -> None:
    with pytest.raises(ModelSpecInvalid, match=reason):
        open_measures([1, 0], routing, [5, 5], [1, 1])
