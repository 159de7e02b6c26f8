"""The speed of queues is measured in a bounded window, by a sample of the messages."""

from dovemq.core.commands import Lease, Receipt
from dovemq.core.message import Message
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.service.tempo import FOLLOWED_MAX, SAMPLES_SLOT_MAX, SLOT_MS, SLOTS, Tempo
from dovemq.testing.clock import ManualClock

MS = 1_000_000


class Watched:
    """A queue whose messages are sent, received and settled by hand."""

    def __init__(self, queues_max: int = 10) -> None:
        self.clock = ManualClock(0)
        self.tempo = Tempo(lambda: self.clock.now_ms() * MS, queues_max)
        self.queue = self.numbered(1)

    def numbered(self, number: int, delay_ms: int = 0) -> Queue:
        settings = QueueSettings(delay_ms=delay_ms)
        return Queue(number, QueueKey("0", f"q{number}"), settings, 0, 0)

    def send(self, count: int = 1) -> None:
        self.tempo.sent(self.queue, count, self.clock.now_ms())

    def lease(self, sequence: int, sent_ms: int, times: int = 1, source: str | None = None) -> None:
        message = Message(str(sequence), sequence, "", sent_ms, "0", source=source)
        lease = Lease(message, self.receipt(sequence), times, 0)
        self.tempo.leased(self.queue, [lease], self.clock.now_ms())

    def settle(self, sequence: int) -> None:
        self.tempo.settled(self.queue, [self.receipt(sequence)], self.clock.now_ms())

    def receipt(self, sequence: int) -> Receipt:
        return Receipt(self.queue.number, 0, sequence, 1, 0)


def test_wait_service_and_response_of_a_message_are_measured() -> None:
    watched = Watched()
    watched.clock.advance(1_000)
    watched.lease(1, sent_ms=700)
    watched.clock.advance(50)
    watched.settle(1)
    window = watched.tempo.window(watched.queue, watched.clock.now_ms())
    assert (list(window.waits), list(window.services), list(window.responses)) == (
        [300],
        [50],
        [350],
    )
    assert (window.received, window.hits, window.settled) == (1, 1, 1)


def test_service_of_a_repeated_message_begins_with_its_last_receive() -> None:
    watched = Watched()
    watched.lease(1, sent_ms=0)
    watched.clock.advance(30_000)
    watched.lease(1, sent_ms=0, times=2)
    watched.clock.advance(40)
    watched.settle(1)
    window = watched.tempo.window(watched.queue, watched.clock.now_ms())
    assert (list(window.services), list(window.responses)) == ([40], [30_040])
    assert (window.repeated, list(window.waits)) == (1, [0])


def test_delay_of_the_queue_is_no_wait_and_dead_letters_are_not_followed() -> None:
    watched = Watched()
    watched.queue = watched.numbered(1, delay_ms=900)
    watched.clock.advance(1_000)
    watched.lease(1, sent_ms=0)
    watched.lease(2, sent_ms=0, source="0/other")
    window = watched.tempo.window(watched.queue, watched.clock.now_ms())
    assert list(window.waits) == [100]


def test_batch_arrives_at_once() -> None:
    watched = Watched()
    watched.send()
    watched.clock.advance(25)
    watched.send(3)
    window = watched.tempo.window(watched.queue, watched.clock.now_ms())
    assert (window.sent, list(window.gaps)) == (4, [25, 0, 0])


def test_busy_queue_is_sampled_and_its_counts_stay_exact() -> None:
    watched = Watched()
    per_slot = 20 * SAMPLES_SLOT_MAX
    for number in range(2 * per_slot):
        watched.clock.advance(number % 2 * 2 * SLOT_MS // per_slot)
        watched.send()
        watched.lease(number, watched.clock.now_ms())
        watched.settle(number)
    window = watched.tempo.window(watched.queue, watched.clock.now_ms())
    assert (window.sent, window.received, window.settled) == (2 * per_slot,) * 3
    for samples in (window.gaps, window.waits, window.services, window.responses):
        assert SAMPLES_SLOT_MAX < len(samples) <= 3 * SAMPLES_SLOT_MAX


def test_window_forgets_old_slots() -> None:
    watched = Watched()
    watched.send(5)
    watched.clock.advance(SLOTS * SLOT_MS)
    assert watched.tempo.window(watched.queue, watched.clock.now_ms()).sent == 0


def test_messages_that_never_come_back_are_given_up() -> None:
    watched = Watched()
    for number in range(FOLLOWED_MAX + 1):
        watched.clock.advance(100)
        watched.lease(number, watched.clock.now_ms())
    watched.settle(0)
    watched.settle(1)
    window = watched.tempo.window(watched.queue, watched.clock.now_ms())
    assert (window.settled, len(window.services)) == (2, 1)


def test_number_of_queues_is_bounded_and_idle_ones_make_room() -> None:
    watched = Watched(queues_max=3)
    for number in range(1, 6):
        watched.queue = watched.numbered(number)
        watched.send()
    assert len(watched.tempo) == 3
    assert watched.tempo.window(watched.queue, 0).seconds == 0
    watched.clock.advance(SLOTS * SLOT_MS + SLOT_MS)
    watched.send()
    assert len(watched.tempo) == 1
