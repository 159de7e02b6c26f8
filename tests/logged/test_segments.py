"""Where messages are in the log."""

from dovemq.stores.owned.logged.positions import segment_of, segment_start
from dovemq.stores.owned.logged.segments import Segments
from tests.logged.groups import at


def filled(groups: int = 6, each: int = 2, *, segment_bytes: int = 200) -> Segments:
    """Groups of `each` messages and 100 bytes; two groups make a segment."""
    segments = Segments(1, segment_bytes)
    for number in range(groups):
        first = number * each
        segments.appended(segments.next_position(), 100, range(first, first + each))
    return segments


def test_full_segment_is_closed() -> None:
    segments = filled()
    assert [each.bytes for each in segments.all()] == [200, 200, 200]
    assert segments.next_position() == segment_start(segment_of(at(1, 0)) + 3)


def test_message_is_found_in_the_group_that_it_was_sent_in() -> None:
    segments = filled()
    positions = [segments.position_of(sequence) for sequence in range(12)]
    assert positions[0] == positions[1] == at(1, 0)
    assert positions[2] == positions[3] == at(1, 1)
    assert positions == sorted(position or 0 for position in positions)
    assert len(set(positions)) == 6


def test_moved_message_is_found_at_its_new_position() -> None:
    segments = filled()
    position = segments.next_position()
    segments.appended(position, 50, ())
    segments.moved(0, position)
    assert segments.position_of(0) == position
    assert segments.position_of(1) == at(1, 0)
    assert [each.live for each in segments.all()] == [3, 4, 4, 1]
    segments.removed(0)
    assert [each.live for each in segments.all()] == [3, 4, 4, 0]


def test_trimmed_messages_are_nowhere_and_others_stay() -> None:
    segments = filled()
    second = segment_start(segment_of(at(1, 0)) + 1)
    segments.trimmed(second)
    assert segments.position_of(3) is None
    assert segments.position_of(4) == second
    assert segments.bytes == 400
    segments.removed(3)
    assert [each.live for each in segments.all()] == [4, 4]


def test_range_of_a_segment_says_which_messages_were_sent_in_it() -> None:
    segments = filled()
    first = segment_of(at(1, 0))
    assert segments.range_of(first) == (0, 4)
    assert segments.range_of(first + 2) == (8, 0)
    assert segments.range_of(first + 3) is None


def test_places_group_messages_by_their_position() -> None:
    segments = filled()
    segments.moved(2, segments.next_position())
    places, moved = segments.places([0, 1, 2, 3, 5])
    assert places == [(0, at(1, 0), 2), (3, at(1, 1), 1), (5, segments.position_of(5), 1)]
    assert moved == [(2, segments.position_of(2))]


def test_pages_of_a_snapshot_are_put_under_the_tail() -> None:
    old = filled()
    places, moved = old.places(range(12))
    segments = Segments(2)
    segments.appended(at(2, 0), 100, [20, 21])
    segments.begin_loading()
    segments.load(places[:3], moved)
    assert segments.position_of(1) == at(1, 0)
    assert segments.position_of(20) == at(2, 0)
    segments.load(places[3:], ())
    segments.end_loading()
    assert [segments.position_of(each) for each in range(12)] == [
        old.position_of(each) for each in range(12)
    ]
    assert segments.position_of(21) == at(2, 0)
    assert [each.live for each in segments.all()] == [4, 4, 4, 2]
