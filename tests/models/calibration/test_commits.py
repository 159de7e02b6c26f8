"""Commits of a front end, from the times of its sends."""

import numpy as np
import pytest

from dovemq.models.analytic import bulk
from dovemq.models.calibration.commits import (
    COMMITS_MIN,
    GAP_US,
    Commits,
    RequestTimes,
    commits_of,
    groups_of,
)

RATE = 100.0


def _requests(*times: tuple[int, int, int, int]) -> RequestTimes:
    """When each was read, committed and answered, and how long it took for its client."""
    return RequestTimes(*np.array(times).T)


def test_requests_recorded_right_after_each_other_are_of_one_commit() -> None:
    found = commits_of(
        _requests(
            (1_000, 2_000 + GAP_US, 2_350, 1_350),
            (0, 800, 900, 900),
            (5_000, 5_600, 5_700, 700),
            (900, 2_000, 2_300, 1_400),
        )
    )
    assert found.sizes.tolist() == [2, 1]
    # Each began when the last of its requests was read: the server was free.
    assert found.seconds.tolist() == pytest.approx([0.001_150, 0.000_600])


def test_commit_begins_when_the_one_before_has_ended() -> None:
    found = commits_of(_requests((0, 1_000, 1_000, 1_000), (100, 3_000, 3_000, 2_900)))
    assert found.seconds.tolist() == pytest.approx([0.002])


def test_time_of_a_request_besides_waiting_is_separated() -> None:
    found = commits_of(
        _requests(
            (0, 1_000, 1_000, 1_000),
            # To a free server: 60 on the way, 300 for the other to be read, 50 for the answer.
            (2_000, 3_000, 3_050, 1_110),
            # Another 60 on the way, and no time to join it.
            (2_300, 3_000, 3_050, 810),
            # Read late, since the server was busy: its way was no longer than that of others.
            (3_001, 4_000, 4_050, 3_000),
        )
    )
    assert found.beside_seconds == pytest.approx((300 / 3 + 50 + 60) / 1e6)


def test_shortest_way_counts_if_no_request_met_a_free_server() -> None:
    found = commits_of(
        _requests(
            (0, 1_000, 1_000, 1_000), (900, 2_000, 2_000, 1_200), (1_900, 3_000, 3_000, 1_170)
        )
    )
    assert found.beside_seconds == pytest.approx(70 / 1e6)


def _commits(*groups: tuple[int, float, int]) -> Commits:
    """Makes commits from tuples of size, seconds and number of commits."""
    sizes = np.concatenate([np.full(often, size) for size, _, often in groups])
    seconds = np.concatenate([np.full(often, seconds) for _, seconds, often in groups])
    return Commits(sizes, seconds, 0.0)


def test_size_that_is_often_has_its_own_mean_and_scv() -> None:
    apart = [_commits((1, 0.001, COMMITS_MIN)), _commits((1, 0.003, COMMITS_MIN), (2, 0.005, 50))]
    found = groups_of(apart, RATE)
    assert found.means[:2].tolist() == pytest.approx([0.002, 0.005])
    assert found.scvs[:2].tolist() == pytest.approx([0.25, 0.0])


def test_size_that_is_seldom_lies_on_the_line_with_the_variance_of_all() -> None:
    found = groups_of([_commits((1, 0.001, 100), (2, 0.002, 50), (4, 0.004, 3))], RATE)
    assert found.means[[2, 3, 99]].tolist() == pytest.approx([0.003, 0.004, 0.1])
    assert found.scvs.tolist() == pytest.approx([0.0] * len(found.scvs))


def test_commits_of_one_size_tell_nothing_of_others_but_that() -> None:
    found = groups_of([_commits((1, 0.001, 5))], RATE)
    assert found.means.tolist() == pytest.approx([0.001] * len(found.means))


def test_groups_are_as_large_as_they_were() -> None:
    commits = _commits((1, 0.001, 100), (2, 0.002, 50))
    assert bulk(RATE, groups_of([commits], RATE)).group_size == pytest.approx(4 / 3)
