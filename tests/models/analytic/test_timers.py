"""Short visibility timeouts: early expiry adds work, which the closed form counts up to a bound."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.models.analytic import vma
from dovemq.models.analytic.vma import EARLY_EXPIRY_MAX
from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.vma.methods import METHODS
from dovemq.models.vma.parameters import VmaParameters
from dovemq.models.vma.timers import TimedBroker

SERVICE = VmaParameters(22.5, 7.1, 9.4, 4, 3, reliability=0.93)
RUN = SimulationRun(1_500.0, warm_up=300.0, replications=10, seed=5)


def _timed(timeout: float, **more: Any) -> VmaParameters:
    return replace(SERVICE, failure="timer", visibility_timeout=timeout, **more)


def _broker(timeout: float, link: float = 0.0, reliability: float = 0.9) -> TimedBroker:
    numbers = (20.0, 10.0, 3.0, reliability, timeout, link)
    return TimedBroker(*(np.asarray(number) for number in numbers))


def test_work_of_early_expiry_makes_the_service_unstable() -> None:
    found = vma(_timed(0.1))
    assert not found.stable
    assert found.sender.stable
    assert np.isinf(found.delivery_time)
    assert METHODS["kernel"](_timed(0.1), replace(RUN, replications=2)).unstable == ("broker",)


@pytest.mark.parametrize("rate", [10.0, 22.5])
@pytest.mark.parametrize("link", [0.0, 0.05])
@pytest.mark.parametrize("timeout", [0.05, 0.2, 0.5, 5.0])
def test_closed_form_equals_the_kernel_or_names_where_it_ends(
    rate: float, link: float, timeout: float
) -> None:
    asked = _timed(timeout, arrival_rate=rate, link_delay=link)
    if np.exp(-9.4 * max(timeout - link, 0.0)) > EARLY_EXPIRY_MAX and not asked.overloaded:
        with pytest.raises(ModelSpecInvalid, match="the closed form ends at"):
            vma(asked)
        return
    found = vma(asked)
    assert bool(found.stable) == (not asked.overloaded)
    if found.stable:
        simulated = simulate_tandem(asked, RUN)
        near = 2.0 * simulated.sojourn.half_width + 0.02 * simulated.sojourn.mean
        assert abs(float(found.delivery_time) - simulated.sojourn.mean) < near
        assert float(found.gets) == pytest.approx(simulated.leases.mean, rel=0.01)


@settings(deadline=None)
@given(st.floats(0.05, 1.0), st.floats(0.0, 0.05), st.floats(1.0, 20.0))
def test_long_timeout_adds_its_rest_to_each_failure(
    reliability: float, link: float, service_times: float
) -> None:
    broker = _broker(6.0 + service_times, link, reliability)
    assert broker.gets(broker.timeout) == pytest.approx(1.0 / reliability, rel=1e-9)
    expected = 0.1 + link + (1.0 / reliability - 1.0) * (6.0 + service_times)
    assert broker.response_time(broker.timeout) == pytest.approx(expected, rel=1e-6)


def test_gets_with_a_short_timeout_equal_independent_draws() -> None:
    rng = np.random.default_rng(8)
    timeout, link, reliability, draws = 0.08, 0.02, 0.7, 20_000
    gets, times = np.zeros(draws), np.zeros(draws)
    for place in range(draws):
        done, start = np.inf, 0.0
        while done > start:
            gets[place] += 1
            if rng.random() < reliability:
                done = min(done, start + link + rng.exponential(0.1))
            start += timeout
        times[place] = done
    broker = _broker(timeout, link, reliability)
    assert broker.gets(broker.timeout) == pytest.approx(gets.mean(), rel=0.02)
    assert broker.response_time(broker.timeout) == pytest.approx(times.mean(), rel=0.02)


@settings(deadline=None)
@given(st.floats(0.001, 3.0), st.floats(0.0, 0.05), st.floats(0.05, 1.0))
def test_shorter_timeouts_never_need_fewer_gets(
    timeout: float, link: float, reliability: float
) -> None:
    shorter, longer = _broker(timeout, link, reliability), _broker(2 * timeout, link, reliability)
    assert shorter.gets(shorter.timeout) >= longer.gets(longer.timeout) * (1 - 1e-12)
    assert longer.gets(longer.timeout) >= 1.0 / reliability * (1 - 1e-9)
    assert shorter.gets_at_full_load() <= shorter.gets(shorter.timeout) * (1 + 1e-12)


def test_sweep_of_timeouts_is_one_call() -> None:
    timeouts = np.array([0.1, 0.5, 5.0])
    found = vma(replace(SERVICE, failure="timer", visibility_timeout=timeouts))
    assert list(found.stable) == [False, True, True]
    for place in (1, 2):
        alone = vma(_timed(float(timeouts[place])))
        assert found.delivery_time[place] == pytest.approx(float(alone.delivery_time))


def test_early_expiry_is_not_counted_for_messages_that_are_given_up() -> None:
    assert vma(_timed(1.0, gets_max=3)).stable
    with pytest.raises(ModelSpecInvalid, match=r"ends at 0\.001"):
        vma(_timed(0.5, gets_max=3))
