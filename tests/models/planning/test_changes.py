"""A planning file with other values."""

import pytest

from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.planning.changes import changed

FILE = {
    "goal": {"budget": 5},
    "topics": {"a": {"service_rate": 1.0}, "orders.fifo": {"service_rate": 2.0}},
    "jobs": {"1": {"arrival_rate": 3.0}, "2": {"arrival_rate": 0.5}},
}


def test_a_key_is_changed_in_a_copy() -> None:
    other = changed(FILE, {"topics.a.consumers": 3, "topics.orders.fifo.service_rate": 4.0})
    assert other["topics"]["a"] == {"service_rate": 1.0, "consumers": 3}
    assert other["topics"]["orders.fifo"] == {"service_rate": 4.0}
    assert FILE["topics"] == {"a": {"service_rate": 1.0}, "orders.fifo": {"service_rate": 2.0}}


def test_load_multiplies_every_arrival_rate() -> None:
    other = changed(FILE, {"load": 2})
    assert [job["arrival_rate"] for job in other["jobs"].values()] == [6.0, 1.0]


def test_a_goal_takes_the_place_of_the_other() -> None:
    assert changed(FILE, {"goal.target_seconds": 9})["goal"] == {"target_seconds": 9}


def test_missing_table_is_named() -> None:
    with pytest.raises(ModelSpecInvalid, match=r"no table topics\.b"):
        changed(FILE, {"topics.b.consumers": 3})
    with pytest.raises(ModelSpecInvalid, match="a factor is needed"):
        changed(FILE, {"load": "much"})
