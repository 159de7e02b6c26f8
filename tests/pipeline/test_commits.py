"""Commits of a front end, from the times of its sends."""

import numpy as np
import pytest

from dovemq.pipeline.calibration.commits import (
    COMMITS_MIN,
    GAP_US,
    Commits,
    commits_of,
    times_by_size,
)


def test_requests_told_right_after_each_other_are_of_one_commit() -> None:
    read = np.array([0, 900, 1_000, 5_000])
    at = np.array([800, 2_000, 2_000 + GAP_US, 5_600])
    written = np.array([900, 2_300, 2_350, 5_700])
    order = [2, 0, 3, 1]
    found = commits_of(read[order], at[order], written[order])
    assert found.sizes.tolist() == [2, 1]
    # Each began when its first request was read: the server was free.
    assert found.seconds.tolist() == pytest.approx([0.001_250, 0.000_600])
    assert found.answer_seconds == pytest.approx((100 + 150 + 200 + 100) / 4 / 1e6)


def test_commit_begins_when_the_one_before_has_ended() -> None:
    found = commits_of(np.array([0, 100]), np.array([1_000, 3_000]), np.array([1_000, 3_000]))
    assert found.seconds.tolist() == pytest.approx([0.002])


def _commits(*groups: tuple[int, float, int]) -> Commits:
    """Of size, seconds and how often."""
    sizes = np.concatenate([np.full(often, size) for size, _, often in groups])
    seconds = np.concatenate([np.full(often, seconds) for _, seconds, often in groups])
    return Commits(sizes, seconds, 0.0)


def test_size_that_is_often_has_its_own_mean_and_scv() -> None:
    apart = [_commits((1, 0.001, COMMITS_MIN)), _commits((1, 0.003, COMMITS_MIN), (2, 0.005, 50))]
    found = times_by_size(apart)
    assert found.means[:2].tolist() == pytest.approx([0.002, 0.005])
    assert found.scvs[:2].tolist() == pytest.approx([0.25, 0.0])


def test_size_that_is_seldom_lies_on_the_line_with_the_variance_of_all() -> None:
    found = times_by_size([_commits((1, 0.001, 100), (2, 0.002, 50), (4, 0.004, 3))])
    assert found.means[[2, 3, 99]].tolist() == pytest.approx([0.003, 0.004, 0.1])
    assert found.scvs.tolist() == pytest.approx([0.0] * len(found.scvs))


def test_commits_of_one_size_tell_nothing_of_others_but_that() -> None:
    found = times_by_size([_commits((1, 0.001, 5))])
    assert found.means.tolist() == pytest.approx([0.001] * len(found.means))
