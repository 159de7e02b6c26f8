"""The arrivals find the oldest visible message without looking at all hidden ones."""

from dovemq.core.arrivals import Arrivals
from dovemq.core.entry import Entry
from tests.unit.watched import Watched

NOW_MS = 1_000_000
COUNT = 5_000


def _looks(arrivals: Arrivals) -> tuple[int | None, int]:
    Watched.looks.clear()
    oldest_ms = arrivals.oldest_visible_ms(NOW_MS)
    return oldest_ms, Watched.looks["visible_ms"]


def _hidden(arrivals: Arrivals, first: int, *, sent_ms: int) -> list[Entry]:
    entries: list[Entry] = [
        Watched(first + number, NOW_MS + 1, sent_ms, 1, sent_ms) for number in range(COUNT)
    ]
    for entry in entries:
        arrivals.add(entry)
    return entries


def test_hidden_prefix_is_walked_once() -> None:
    arrivals = Arrivals()
    _hidden(arrivals, 1, sent_ms=10)
    arrivals.add(Watched(COUNT + 1, 20, 20))
    assert _looks(arrivals) == (20, COUNT + 1)
    oldest_ms, looks = _looks(arrivals)
    assert oldest_ms == 20
    assert looks <= 2


def test_queue_of_hidden_messages_alone_is_walked_once() -> None:
    arrivals = Arrivals()
    _hidden(arrivals, 1, sent_ms=10)
    assert _looks(arrivals) == (None, COUNT)
    assert _looks(arrivals) == (None, 0)
    arrivals.add(Watched(COUNT + 1, 20, 20))
    assert _looks(arrivals)[0] == 20


def test_message_that_is_shown_again_is_found() -> None:
    arrivals = Arrivals()
    hidden = _hidden(arrivals, 1, sent_ms=10)
    arrivals.add(Watched(COUNT + 1, 20, 20))
    _looks(arrivals)
    hidden[7].visible_ms = NOW_MS
    arrivals.shown(hidden[7])
    assert _looks(arrivals)[0] == 10
    hidden[7].visible_ms = NOW_MS + 1
    assert _looks(arrivals)[0] == 20


def test_of_adopted_messages_only_those_before_the_oldest_visible_are_looked_at() -> None:
    arrivals = Arrivals()
    arrivals.add(Watched(1, NOW_MS, NOW_MS))
    for number in range(COUNT):
        arrivals.add(Watched(2 + number, NOW_MS, COUNT - number))
    oldest_ms, looks = _looks(arrivals)
    assert oldest_ms == 1
    assert looks <= 5


def test_adopted_messages_that_are_hidden_are_passed_over() -> None:
    arrivals = Arrivals()
    arrivals.add(Watched(1, NOW_MS, NOW_MS))
    for number in range(COUNT):
        visible_ms = NOW_MS if number == 4_000 else NOW_MS + 1
        arrivals.add(Watched(2 + number, visible_ms, number + 1))
    assert _looks(arrivals)[0] == 4_001
