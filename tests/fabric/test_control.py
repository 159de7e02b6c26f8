"""The controller adds, marks, unmarks and removes partitions by R5, R6 and the bounds."""

import msgspec
import pytest

from dovemq.core.errors import InvariantError
from dovemq.fabric.autonomic import (
    ActionKind,
    ControlDecision,
    ControlMemory,
    ControlSettings,
    PartitionLoad,
    QueueLoad,
    decide,
    explain,
)
from tests.fabric.loads import (
    CAPACITY,
    CONSUMER_JOINS,
    CONSUMER_LEAVES,
    PRODUCER_JOINS,
    PRODUCER_LEAVES,
    load,
)

SETTINGS = ControlSettings(partitions_max=4, inhibition_ms=1_000, capacity_start=CAPACITY)
FRESH = ControlMemory()


def _action(decision: ControlDecision) -> tuple[ActionKind, int] | None:
    action = decision.action
    return None if action is None else (action.kind, action.partition)


def test_client_that_joins_a_full_queue_gets_the_partition_that_is_added() -> None:
    decision, memory = decide(load((2, 4), event=PRODUCER_JOINS, now_ms=50), FRESH, SETTINGS)
    assert _action(decision) == (ActionKind.ADD, 1)
    assert decision.elected is not None
    assert decision.elected.partition == 1
    assert memory == ControlMemory(None, 1_050, 1)


def test_queue_with_room_adds_nothing_when_a_client_joins() -> None:
    decision, memory = decide(load((2, 3), event=PRODUCER_JOINS), FRESH, SETTINGS)
    assert (decision.action, memory) == (None, FRESH)
    assert decision.elected is not None


def test_full_queue_grows_without_a_client_that_joins_only_above_a_load_of_one() -> None:
    assert decide(load((2, 4)), FRESH, SETTINGS)[0].action is None
    assert _action(decide(load((2, 5)), FRESH, SETTINGS)[0]) == (ActionKind.ADD, 1)


def test_no_partition_is_added_before_the_inhibition_ends() -> None:
    memory = ControlMemory(inhibited_until_ms=1_000)
    full = load((2, 4), event=PRODUCER_JOINS, now_ms=999)
    decision, after = decide(full, memory, SETTINGS)
    assert (decision.action, after) == (None, memory)
    assert decision.withheld is not None
    assert decision.withheld.rule == "inhibition"
    assert "another 1 ms" in decision.withheld.text
    decision, _ = decide(msgspec.structs.replace(full, now_ms=1_000), memory, SETTINGS)
    assert _action(decision) == (ActionKind.ADD, 1)


def test_no_partition_is_added_beyond_the_most() -> None:
    settings = msgspec.structs.replace(SETTINGS, partitions_max=2)
    decision, _ = decide(load((3, 4), (3, 4), event=CONSUMER_JOINS), FRESH, settings)
    assert decision.action is None
    assert decision.withheld is not None
    assert decision.withheld.rule == "bounds"


def test_partition_is_marked_when_the_others_sustain_all_clients() -> None:
    decision, memory = decide(load((1, 2), (1, 2), event=PRODUCER_LEAVES), FRESH, SETTINGS)
    assert _action(decision) == (ActionKind.MARK, 1)
    assert memory == ControlMemory(marked=1)


def test_partition_stays_when_its_removal_would_overload_the_others() -> None:
    decision, _ = decide(load((1, 2), (1, 3), event=PRODUCER_LEAVES), FRESH, SETTINGS)
    assert decision.action is None


def test_removal_may_have_to_leave_room() -> None:
    settings = msgspec.structs.replace(SETTINGS, load_left_max=0.9)
    assert decide(load((1, 2), (1, 2)), FRESH, settings)[0].action is None
    assert decide(load((1, 2), (1, 1)), FRESH, settings)[0].action is not None


def test_removable_partition_with_the_fewest_clients_is_marked() -> None:
    decision, _ = decide(load((1, 1), (0, 1), (1, 0)), FRESH, SETTINGS)
    assert _action(decision) == (ActionKind.MARK, 2)


def test_partition_with_too_much_capacity_is_passed_over() -> None:
    partitions = (PartitionLoad(0, 0, 1, 20.0), PartitionLoad(1, 2, 4, 6.0))
    decision, _ = decide(QueueLoad(0, partitions), FRESH, SETTINGS)
    assert _action(decision) == (ActionKind.MARK, 1)


def test_last_partition_is_never_marked() -> None:
    assert decide(load((0, 0), event=PRODUCER_LEAVES), FRESH, SETTINGS)[0].action is None


def test_second_partition_is_not_marked_while_one_is() -> None:
    memory = ControlMemory(marked=2)
    decision, after = decide(load((0, 0), (0, 0), (0, 1)), memory, SETTINGS)
    assert (decision.action, after.marked) == (None, 2)


def test_nothing_is_marked_when_a_client_joins() -> None:
    assert decide(load((0, 0), (0, 0), event=PRODUCER_JOINS), FRESH, SETTINGS)[0].action is None


def test_nothing_is_marked_before_the_inhibition_ends() -> None:
    memory = ControlMemory(inhibited_until_ms=10)
    assert decide(load((0, 1), (0, 0), now_ms=9), memory, SETTINGS)[0].action is None
    assert decide(load((0, 1), (0, 0), now_ms=10), memory, SETTINGS)[0].action is not None


def test_marked_partition_without_clients_and_messages_is_removed() -> None:
    memory = ControlMemory(marked=1)
    decision, after = decide(load((1, 1), (0, 0), event=CONSUMER_LEAVES), memory, SETTINGS)
    assert _action(decision) == (ActionKind.REMOVE, 1)
    assert after == ControlMemory(inhibited_until_ms=1_000)


@pytest.mark.parametrize("left", [{"visible": 1}, {"held": 1}])
def test_marked_partition_with_a_message_stays(left: dict[str, int]) -> None:
    partitions = (PartitionLoad(0, 1, 1, 6.0), PartitionLoad(1, 0, 0, 6.0, **left))
    decision, _ = decide(QueueLoad(0, partitions), ControlMemory(marked=1), SETTINGS)
    assert decision.action is None
    assert decision.withheld is not None
    assert "1 messages" in decision.withheld.text


def test_marked_partition_is_kept_before_another_is_added() -> None:
    memory = ControlMemory(marked=1)
    decision, after = decide(load((2, 4), (0, 0), event=PRODUCER_JOINS), memory, SETTINGS)
    assert _action(decision) == (ActionKind.UNMARK, 1)
    assert after == ControlMemory(inhibited_until_ms=1_000)
    assert decision.elected is not None
    assert decision.elected.partition == 1


def test_too_few_partitions_are_completed_at_once() -> None:
    settings = msgspec.structs.replace(SETTINGS, partitions_min=2)
    memory = ControlMemory(inhibited_until_ms=10_000)
    assert _action(decide(load((0, 0)), memory, settings)[0]) == (ActionKind.ADD, 1)


def test_too_many_partitions_are_marked_one_by_one() -> None:
    settings = msgspec.structs.replace(SETTINGS, partitions_max=2)
    memory = ControlMemory(inhibited_until_ms=10_000)
    decision, memory = decide(load((2, 4), (2, 4), (2, 3)), memory, settings)
    assert _action(decision) == (ActionKind.MARK, 2)


def test_number_of_a_removed_partition_is_not_used_again_soon() -> None:
    memory = ControlMemory(last_number=7)
    decision, memory = decide(load((2, 4), event=PRODUCER_JOINS), memory, SETTINGS)
    assert _action(decision) == (ActionKind.ADD, 8)


def test_numbers_of_partitions_start_again_after_the_last() -> None:
    memory = ControlMemory(last_number=65_535)
    decision, memory = decide(load((2, 4), event=PRODUCER_JOINS), memory, SETTINGS)
    assert _action(decision) == (ActionKind.ADD, 1)


def test_mark_of_a_partition_that_is_gone_is_forgotten() -> None:
    decision, memory = decide(load((2, 4)), ControlMemory(marked=5), SETTINGS)
    assert (decision.action, memory.marked) == (None, None)


def test_action_tells_its_rule_and_numbers() -> None:
    decision, _ = decide(load((2, 5)), FRESH, SETTINGS)
    assert decision.action is not None
    assert decision.action.reason.rule == "R5"
    assert decision.action.text == (
        "add partition 1: 7 clients on a capacity of 6 are a load of 1.17, which is above 1"
    )


def test_explanation_shows_queue_partitions_and_what_comes_next() -> None:
    partitions = (PartitionLoad(0, 2, 1, 6.0, 100), PartitionLoad(1, 1, 2, 6.0))
    lines = explain(QueueLoad(0, partitions), FRESH, SETTINGS)
    assert lines[0] == (
        "number of partitions 2, from 1 to 4 allowed; 3 producers and 3 consumers on a capacity "
        "of 12 clients: load 0.50"
    )
    assert lines[1] == (
        "partition 0: 2 producers (0.667 of all), 1 consumers (0.333), load 0.50 of 6, "
        "100 visible and 0 hidden messages, flooding"
    )
    assert lines[3].startswith("next, by R6: mark partition 1: ")


def test_explanation_tells_why_nothing_changes() -> None:
    lines = explain(load((1, 2)), FRESH, SETTINGS)
    assert lines[-1] == (
        "no change, by bounds: 3 clients on a capacity of 6 are a load of 0.50, but the least "
        "number of partitions is 1"
    )


def test_memory_survives_as_json() -> None:
    memory = ControlMemory(3, 12_345, 9)
    assert msgspec.json.decode(msgspec.json.encode(memory), type=ControlMemory) == memory


def test_impossible_observations_and_bounds_are_refused() -> None:
    with pytest.raises(InvariantError):
        ControlSettings(partitions_min=0)
    with pytest.raises(InvariantError):
        ControlSettings(partitions_min=5, partitions_max=4)
    with pytest.raises(InvariantError):
        PartitionLoad(0, 0, 0, 0.0)
    with pytest.raises(InvariantError):
        QueueLoad(0, ())
    with pytest.raises(InvariantError):
        QueueLoad(0, (PartitionLoad(1, 0, 0, 1.0), PartitionLoad(1, 0, 0, 1.0)))
