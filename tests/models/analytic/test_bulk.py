"""A server that serves all waiting requests together: against theory and against simulation."""

import numpy as np
import pytest

from dovemq.models.analytic import GroupServices, arrival_rate_at, bulk, joined_by
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.estimates import Estimate


def _groups(first: float, more: float, scv: float, joiners: float = 0.0) -> GroupServices:
    """A group of one takes `first`, and each further one in it so much more."""
    means = np.array([first + more * at for at in range(200)])
    return GroupServices(means, np.full(200, scv), joiners)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.85])
@pytest.mark.parametrize("scv", [0.0, 0.5, 3.0])
def test_work_that_is_not_saved_by_groups_keeps_it_busy_for_the_load(
    load: float, scv: float
) -> None:
    sizes = np.arange(1.0, 401.0)
    # Times of the requests in a group are independent, and add up.
    assert bulk(load, GroupServices(sizes, scv / sizes)).busy == pytest.approx(load, rel=1e-4)


def test_groups_follow_from_the_arrivals_if_times_do_not_depend_on_the_size() -> None:
    rate, scv = 3.0, 1.0
    found = bulk(rate, _groups(1.0, 0.0, scv))
    # In an exponential time of mean 1 a geometric number arrives, none with this probability.
    none = 1.0 / (1.0 + rate)
    assert found.group_size == pytest.approx(rate + none)
    assert found.busy == pytest.approx(1.0 / (1.0 + none / rate))
    assert found.sojourn_time == pytest.approx(1.0 + rate / (rate + none))


def test_rare_requests_are_served_alone() -> None:
    found = bulk(1e-6, _groups(2.0, 1.0, 0.5))
    assert found.group_size == pytest.approx(1.0, abs=1e-5)
    assert found.sojourn_time == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize("scv", [0.0, 0.7, 2.0])
def test_predicted_sojourn_is_the_simulated_one(scv: float) -> None:
    rate, groups = 1.2, _groups(0.6, 0.25, scv)
    rng = np.random.default_rng(7)
    means, sizes = zip(*(_simulated(rng, rate, groups, 20_000) for _ in range(20)), strict=True)
    assert Estimate(means, 0.999).holds(bulk(rate, groups).sojourn_time)
    assert Estimate(sizes, 0.999).holds(bulk(rate, groups).group_size)


def _simulated(
    rng: np.random.Generator, rate: float, groups: GroupServices, customers: int
) -> tuple[float, float]:
    """Mean sojourn and size by the definition: a group begins with its first or when the server is
    free."""
    arrivals = np.cumsum(rng.exponential(1.0 / rate, customers))
    ended, served, services, total = 0.0, 0, 0, 0.0
    while served < customers:
        begins = max(ended, float(arrivals[served]))
        until = int(np.searchsorted(arrivals, begins, side="right"))
        mean, scv = groups.means[until - served - 1], groups.scvs[until - served - 1]
        ended = begins + (rng.gamma(1.0 / scv, scv * mean) if scv else mean)
        total += float(np.sum(ended - arrivals[served:until]))
        served, services = until, services + 1
    return total / customers, customers / services


def test_late_joiners_make_groups_larger_and_are_served_with_them() -> None:
    rate, scv, joiners = 3.0, 1.0, 0.7
    found = bulk(rate, _groups(1.0, 0.0, scv, joiners))
    # Times do not depend on the size: as many wait as without joiners, who wait for nothing.
    none = 1.0 / (1.0 + rate)
    assert found.group_size == pytest.approx(rate + none + joiners)
    assert found.sojourn_time == pytest.approx(1.0 + rate / (rate + none + joiners))


def test_number_of_joiners_follows_from_the_size_of_groups() -> None:
    rate, joiners = 1.2, 0.4
    groups = _groups(0.6, 0.25, 0.7)
    size = bulk(rate, _groups(0.6, 0.25, 0.7, joiners)).group_size
    assert joined_by(size, rate, groups).joiners == pytest.approx(joiners)
    assert joined_by(1.0, rate, groups).joiners == 0.0


def test_more_work_than_time_is_unstable() -> None:
    found = bulk(1.1, _groups(1.0, 1.0, 0.5))
    assert not found.stable
    assert found.sojourn_time == np.inf


@pytest.mark.parametrize("busy", [0.05, 0.5, 0.85])
def test_rate_is_found_for_a_busy_share(busy: float) -> None:
    groups = _groups(0.6, 0.25, 0.7)
    assert bulk(arrival_rate_at(busy, groups), groups).busy == pytest.approx(busy)


@pytest.mark.parametrize(("first", "scv"), [(0.0, 1.0), (1.0, -1.0), (float("nan"), 1.0)])
def test_times_are_checked(first: float, scv: float) -> None:
    with pytest.raises(ModelParameterInvalid):
        bulk(1.0, _groups(first, 1.0, scv))


def test_joiners_are_checked() -> None:
    with pytest.raises(ModelParameterInvalid, match="joiners"):
        bulk(1.0, _groups(1.0, 1.0, 1.0, -0.1))
