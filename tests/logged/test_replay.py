"""Groups of a log become the state of a partition."""

import pytest

from dovemq.core.entry import Entry
from dovemq.stores.owned.logged.encoding import GroupUnreadable, LogGroup
from dovemq.stores.owned.logged.loading import loading
from dovemq.stores.owned.logged.replay import LogReplay
from dovemq.stores.owned.logged.seals import Seals
from dovemq.stores.owned.logged.segments import Segments
from tests.logged.groups import at, encoded, number, row


def replayed(groups: dict[int, LogGroup], seals: dict[int, int] | None = None) -> LogReplay:
    """Replay the groups, the last one included, as the owner of epoch 9."""
    replay = LogReplay(Segments(9), 0, Seals(seals or {}))
    for position in sorted(groups):
        replay.take(position, encoded(groups[position]))
    replay.take_effect(at(9, 0), replay.in_doubt().group)
    return replay


def loaded(replay: LogReplay) -> list[Entry]:
    return [entry for page in loading(replay) for entry in page]


def test_sent_messages_that_were_not_deleted_are_here() -> None:
    replay = replayed(
        {
            at(1, 0): LogGroup(0, sends=[row(1), row(2), row(3)]),
            at(1, 1): LogGroup(0, deletes=[2], sends=[row(4)]),
        }
    )
    assert [entry.sequence for entry in loaded(replay)] == [1, 3, 4]


def test_newest_lease_counts() -> None:
    replay = replayed(
        {
            at(1, 0): LogGroup(0, sends=[row(1)]),
            at(1, 1): LogGroup(0, leases=[(1, 50, 1, 40)]),
            at(1, 2): LogGroup(0, leases=[(1, 90, 2, 40)]),
        }
    )
    (entry,) = loaded(replay)
    assert (entry.visible_ms, entry.receive_count, entry.first_received_ms) == (90, 2, 40)


def test_rows_about_unknown_or_deleted_messages_do_no_harm() -> None:
    replay = replayed(
        {
            at(1, 0): LogGroup(0, deletes=[77], leases=[(78, 1, 1, 1)], sends=[row(1)]),
            at(1, 1): LogGroup(0, deletes=[1, 1], leases=[(1, 50, 1, 40)]),
            at(1, 2): LogGroup(0, deletes=[1]),
        }
    )
    assert loaded(replay) == []
    assert [segment.live for segment in replay.segments.all()] == [0]


def test_moved_message_has_its_new_state_and_position() -> None:
    replay = replayed(
        {
            at(1, 0): LogGroup(0, sends=[row(1), row(2)]),
            at(1, 1): LogGroup(0, moved=[row(1, visible_ms=70)]),
            at(1, 2): LogGroup(0),
        }
    )
    assert [entry.visible_ms for entry in loaded(replay)] == [70, 10]
    assert replay.segments.position_of(1) == at(1, 1)
    assert replay.segments.position_of(2) == at(1, 0)


def test_moved_message_stands_in_order_of_its_sequence() -> None:
    replay = replayed(
        {
            at(1, 5): LogGroup(0, sends=[row(8)]),
            at(1, 6): LogGroup(0, moved=[row(2), row(1)]),
            at(1, 7): LogGroup(0, sends=[row(9)]),
        }
    )
    assert [entry.sequence for entry in loaded(replay)] == [1, 2, 8, 9]


def test_void_groups_are_skipped() -> None:
    replay = replayed(
        {
            at(1, 0): LogGroup(0, sends=[row(1)]),
            at(1, 1): LogGroup(0, deletes=[1], sends=[row(2)]),
            at(2, 0): LogGroup(0, seal=at(1, 0), sends=[row(number(2, 0))]),
        },
        {2: at(1, 0)},
    )
    assert [entry.sequence for entry in loaded(replay)] == [1, number(2, 0)]


def test_last_group_is_in_doubt_and_not_applied_where_it_was_found() -> None:
    replay = LogReplay(Segments(9), 0, Seals({}))
    replay.take(at(1, 3), encoded(LogGroup(0, sends=[row(1)])))
    replay.take(at(1, 4), encoded(LogGroup(0, sends=[row(2)])))
    doubt = replay.in_doubt()
    assert doubt.end == at(1, 3)
    assert [each.sequence for each in doubt.group.sends] == [2]
    assert list(replay.sends) == [1]


def test_empty_log_has_nothing_in_doubt() -> None:
    doubt = LogReplay(Segments(9), 0, Seals({})).in_doubt()
    assert (doubt.end, doubt.group) == (0, LogGroup(0))


def test_keys_and_adopted_ids_are_known_again() -> None:
    replay = replayed(
        {
            at(1, 0): LogGroup(0, sends=[row(1, key=b"k", message_id="a")]),
            at(1, 1): LogGroup(0, sends=[row(2, adopted=True, message_id="b")], deletes=[1]),
        }
    )
    first = replay.identities.first_send(b"k", 20)
    assert first is not None
    assert (first.message_id, first.sequence) == ("a", 1)
    assert replay.identities.adopted("b") == 2


def test_purge_forgets_keys_in_the_order_of_the_log() -> None:
    replay = replayed(
        {
            at(1, 0): LogGroup(0, sends=[row(1, key=b"k", message_id="a")]),
            at(1, 1): LogGroup(0, forgotten_ms=11),
            at(1, 2): LogGroup(0, sends=[row(2, key=b"l", message_id="b")]),
        }
    )
    assert replay.identities.first_send(b"k", 20) is None
    assert replay.identities.first_send(b"l", 20) is not None


def test_damaged_group_ends_the_replay() -> None:
    replay = LogReplay(Segments(9), 0, Seals({}))
    with pytest.raises(GroupUnreadable):
        replay.take(at(1, 0), b"not a group")
