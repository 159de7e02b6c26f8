"""A server that takes all who wait: against what is known of it, and against its simulation."""

import numpy as np
import pytest

from dovemq.models.analytic import GroupTimes, ParameterInvalid, arrival_rate_at, bulk
from dovemq.models.simulation.estimates import Estimate


def _times(first: float, more: float, scv: float, sizes: int = 200) -> GroupTimes:
    """A group of one takes `first`, and each further one in it so much more."""
    return GroupTimes(np.array([first + more * at for at in range(sizes)]), np.full(sizes, scv))


@pytest.mark.parametrize("load", [0.1, 0.5, 0.85])
@pytest.mark.parametrize("scv", [0.0, 0.5, 3.0])
def test_work_that_is_not_saved_by_groups_keeps_it_busy_for_the_load(
    load: float, scv: float
) -> None:
    sizes = np.arange(1.0, 401.0)
    # Times of the requests in a group are independent, and add up.
    assert bulk(load, GroupTimes(sizes, scv / sizes)).busy == pytest.approx(load, rel=1e-4)


def test_of_times_that_do_not_depend_on_the_size_all_is_told_by_arrivals_in_one() -> None:
    rate, scv = 3.0, 1.0
    found = bulk(rate, _times(1.0, 0.0, scv))
    # In an exponential time of mean 1 a geometric number arrives, none with this probability.
    none = 1.0 / (1.0 + rate)
    assert found.group_size == pytest.approx(rate + none)
    assert found.busy == pytest.approx(1.0 / (1.0 + none / rate))
    assert found.sojourn_time == pytest.approx(1.0 + rate / (rate + none))


def test_who_comes_seldom_is_served_alone() -> None:
    found = bulk(1e-6, _times(2.0, 1.0, 0.5))
    assert found.group_size == pytest.approx(1.0, abs=1e-5)
    assert found.sojourn_time == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize("scv", [0.0, 0.7, 2.0])
def test_predicted_sojourn_is_the_simulated_one(scv: float) -> None:
    rate, times = 1.2, _times(0.6, 0.25, scv)
    rng = np.random.default_rng(7)
    means = tuple(_simulated(rng, rate, times, 20_000) for _ in range(20))
    assert Estimate(means, 0.999).holds(bulk(rate, times).sojourn_time)


def _simulated(rng: np.random.Generator, rate: float, times: GroupTimes, customers: int) -> float:
    """Mean sojourn by the definition: a group begins with its first or when the server is free."""
    arrivals = np.cumsum(rng.exponential(1.0 / rate, customers))
    ended, served, total = 0.0, 0, 0.0
    while served < customers:
        begins = max(ended, float(arrivals[served]))
        until = int(np.searchsorted(arrivals, begins, side="right"))
        mean, scv = times.means[until - served - 1], times.scvs[until - served - 1]
        ended = begins + (rng.gamma(1.0 / scv, scv * mean) if scv else mean)
        total += float(np.sum(ended - arrivals[served:until]))
        served = until
    return total / customers


def test_more_work_than_time_is_unstable() -> None:
    found = bulk(1.1, _times(1.0, 1.0, 0.5))
    assert not found.stable
    assert found.sojourn_time == np.inf


@pytest.mark.parametrize("busy", [0.05, 0.5, 0.85])
def test_rate_is_found_for_a_busy_share(busy: float) -> None:
    times = _times(0.6, 0.25, 0.7)
    assert bulk(arrival_rate_at(busy, times), times).busy == pytest.approx(busy)


@pytest.mark.parametrize(("first", "scv"), [(0.0, 1.0), (1.0, -1.0), (float("nan"), 1.0)])
def test_times_are_checked(first: float, scv: float) -> None:
    with pytest.raises(ParameterInvalid):
        bulk(1.0, _times(first, 1.0, scv))
