"""The layout of a queue, and the rules for its attributes."""

from typing import Any

import pytest

from dovemq.core.errors import InvalidAttribute, InvariantError
from dovemq.core.partitions import Layout, resized, with_active, with_draining, without
from dovemq.core.queue import QueueSettings, changed_settings, settings_with


def test_new_queue_has_one_partition() -> None:
    assert QueueSettings().layout == Layout((0,), (), 0)


def test_more_partitions_are_active_at_once() -> None:
    assert resized(Layout(), 4) == Layout((0, 1, 2, 3), (), 3)


def test_fewer_partitions_let_the_others_drain() -> None:
    assert resized(resized(Layout(), 4), 2) == Layout((0, 1), (2, 3), 3)


def test_draining_partitions_are_used_again_first() -> None:
    assert resized(Layout((0, 3), (2,), 5), 4) == Layout((0, 1, 2, 3), (), 5)


def test_layout_remembers_the_highest_number_ever_used() -> None:
    layout = without(resized(resized(Layout(), 3), 1), 2)
    assert layout == Layout((0,), (1,), 2)
    assert layout.forgotten == (2,)
    assert layout.numbers == (0, 1)


def test_forgotten_partition_can_drain_again() -> None:
    assert with_draining(Layout((0,), (), 2), 2) == Layout((0,), (2,), 2)


def test_any_number_can_become_active() -> None:
    assert with_active(Layout(), 7) == Layout((0, 7), (), 7)


def test_last_active_partition_cannot_drain() -> None:
    with pytest.raises(InvariantError):
        with_draining(Layout(), 0)


def test_layout_follows_the_number_of_partitions() -> None:
    settings = settings_with(QueueSettings(), {"partitions": 3})
    assert settings.layout == Layout((0, 1, 2), (), 2)
    assert settings_with(settings, {"partitions": 1}).layout == Layout((0,), (1, 2), 2)


def test_layout_cannot_be_set() -> None:
    with pytest.raises(InvalidAttribute, match="follows"):
        settings_with(QueueSettings(), {"layout": Layout((0, 1), (), 1)})


@pytest.mark.parametrize(
    "changes",
    [
        {"partitions": 0},
        {"partitions": 257},
        {"partitions": "auto"},
        {"dequeue_strategy": "lifo"},
        {"dequeue_fanout": 0},
        {"rds_sleep_ms": 0},
        {"rds_sleep_ms": 20_001},
        {"rds_sleep_ms": "often"},
        {"rds_wake": "never"},
        {"pms_period_ms": 99},
    ],
)
def test_values_out_of_range_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidAttribute):
        settings_with(QueueSettings(), changes)


def test_fifo_queue_needs_a_scope_per_group_for_several_partitions() -> None:
    fifo = QueueSettings(fifo=True)
    with pytest.raises(InvalidAttribute, match="scope per group"):
        settings_with(fifo, {"partitions": 2})
    changes = {"partitions": 2, "deduplication_scope": "messageGroup"}
    assert settings_with(fifo, changes).layout.active == (0, 1)


def test_partitions_of_a_fifo_queue_cannot_change() -> None:
    changes = {"partitions": 2, "deduplication_scope": "messageGroup"}
    settings = settings_with(QueueSettings(fifo=True), changes)
    with pytest.raises(InvalidAttribute, match="lose their order"):
        changed_settings(settings, {"partitions": 3})
    with pytest.raises(InvalidAttribute, match="scope per group"):
        changed_settings(settings, {"deduplication_scope": "queue"})
    assert changed_settings(settings, {"partitions": 2}) == settings
