"""The layout of a queue, and the rules for its attributes."""

from typing import Any

import msgspec
import pytest

from dovemq.core.errors import InvalidAttribute, InvariantError
from dovemq.core.partitions import (
    ControlMemory,
    Layout,
    resized,
    with_active,
    with_draining,
    without,
)
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


def test_queue_that_begins_to_size_itself_keeps_its_layout() -> None:
    settings = settings_with(QueueSettings(), {"partitions": 3})
    sized = changed_settings(settings, {"auto": True, "partitions_max": 2})
    assert sized.auto
    assert sized.layout == settings.layout


def test_number_ends_the_sizing_and_forgets_what_the_controller_remembers() -> None:
    settings = QueueSettings(
        auto=True, partitions=3, layout=Layout((0, 1, 2), (), 2), control=ControlMemory(2, 5, 2)
    )
    fixed = changed_settings(settings, {"partitions": 2})
    assert not fixed.auto
    assert fixed.layout == Layout((0, 1), (2,), 2)
    assert fixed.control == ControlMemory()
    assert changed_settings(settings, {"delay_ms": 1}).control == settings.control


def test_memory_of_the_controller_cannot_be_set() -> None:
    with pytest.raises(InvalidAttribute, match="follows"):
        settings_with(QueueSettings(), {"control": ControlMemory(1)})


def test_least_number_is_not_above_the_greatest() -> None:
    with pytest.raises(InvalidAttribute, match="4, is above the most, 3"):
        settings_with(QueueSettings(), {"partitions_min": 4, "partitions_max": 3})


def test_fifo_queue_cannot_size_itself() -> None:
    with pytest.raises(InvalidAttribute, match="cannot size itself"):
        settings_with(QueueSettings(fifo=True), {"auto": True})


def test_marked_partition_is_no_target() -> None:
    layout = Layout((0, 1), (), 1)
    assert QueueSettings(layout=layout).targets == (0, 1)
    assert QueueSettings(layout=layout, control=ControlMemory(1)).targets == (0,)


def test_settings_of_an_earlier_version_are_read() -> None:
    earlier = b'{"partitions":2,"layout":{"active":[0,1],"draining":[],"highest":1}}'
    settings = msgspec.json.decode(earlier, type=QueueSettings)
    assert (settings.auto, settings.control) == (False, ControlMemory())
