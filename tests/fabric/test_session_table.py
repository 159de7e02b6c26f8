"""The table of sessions: who is elected where, when a session ends, and when it migrates."""

import pytest

from dovemq.core.partitions import ControlMemory, Layout
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.core.sessions import ClientSession
from dovemq.fabric.autonomic import ClientRole, PartitionLoad, QueueLoad
from dovemq.fabric.members import Locality, everywhere_local
from dovemq.fabric.session_counts import ClientCount, SessionCounts
from dovemq.fabric.sessions import MIGRATION_MS, LoadSource, SessionPlace, SessionTable
from dovemq.testing.clock import ManualClock

PRODUCER, CONSUMER = ClientRole.PRODUCER, ClientRole.CONSUMER


def queue_of(
    *active: int,
    draining: tuple[int, ...] = (),
    marked: int | None = None,
    migration: bool = False,
    version: int = 1,
    number: int = 1,
) -> Queue:
    settings = QueueSettings(
        layout=Layout(active, draining, 9),
        auto=True,
        control=ControlMemory(marked),
        session_migration="on" if migration else "off",
    )
    return Queue(number, QueueKey("000000000000", f"jobs{number}"), settings, 0, 0, {}, version)


class Desk:
    """A table with a clock, and sessions that ask it."""

    def __init__(
        self,
        sessions_max: int = 1_000,
        loads: LoadSource | None = None,
        is_local: Locality = everywhere_local,
    ) -> None:
        self.clock = ManualClock()
        self.clients = SessionCounts()
        self.table = SessionTable(self.clock, self.clients, loads, sessions_max, is_local)

    def ask(
        self, session: ClientSession, queue: Queue, role: ClientRole = PRODUCER
    ) -> SessionPlace:
        with session.call():
            place = self.table.place(queue, role)
        assert place is not None
        return place

    def join(self, queue: Queue, role: ClientRole, count: int) -> list[ClientSession]:
        sessions = [ClientSession() for _ in range(count)]
        for session in sessions:
            self.ask(session, queue, role)
        return sessions

    def counts(self, number: int = 1) -> dict[int, tuple[int, int]]:
        return {
            partition: (count.producers, count.consumers)
            for partition, count in sorted(self.clients.counts(number).items())
        }


def test_clients_are_spread_evenly_in_each_role() -> None:
    desk = Desk()
    desk.join(queue_of(0, 1, 2), PRODUCER, 4)
    desk.join(queue_of(0, 1, 2), CONSUMER, 8)
    assert desk.counts() == {0: (2, 2), 1: (1, 3), 2: (1, 3)}


def test_clients_stay_at_their_front_end_while_its_partition_has_one_more_at_most() -> None:
    desk = Desk(is_local=lambda _, partition: partition == 2)
    desk.join(queue_of(0, 1, 2), CONSUMER, 1)
    assert desk.counts() == {2: (0, 1)}
    desk.join(queue_of(0, 1, 2), CONSUMER, 4)
    assert desk.counts() == {0: (0, 1), 1: (0, 1), 2: (0, 3)}


def test_client_keeps_its_partition() -> None:
    desk, queue = Desk(), queue_of(0, 1, 2)
    first, second = desk.join(queue, PRODUCER, 2)
    assert [desk.ask(first, queue).partition for _ in range(5)] == [0] * 5
    assert desk.ask(second, queue).partition == 1
    assert desk.counts() == {0: (1, 0), 1: (1, 0)}


def test_client_has_one_session_for_each_role() -> None:
    desk, queue = Desk(), queue_of(0, 1)
    client = ClientSession()
    desk.ask(client, queue, PRODUCER)
    desk.ask(client, queue, CONSUMER)
    # The share of consumers is 0 everywhere, and partition 0 has more load.
    assert desk.counts() == {0: (1, 0), 1: (0, 1)}
    client.end()
    assert desk.counts() == {}


def test_queues_are_counted_apart() -> None:
    desk = Desk()
    client = ClientSession()
    desk.ask(client, queue_of(0, 1, number=1))
    desk.ask(client, queue_of(0, 1, number=2))
    assert desk.counts(1) == desk.counts(2) == {0: (1, 0)}
    assert desk.counts(3) == {}
    desk.table.end_queue(1)
    assert desk.counts(1) == {}
    assert desk.counts(2) == {0: (1, 0)}
    client.end()
    assert len(desk.table) == 0


def test_work_without_a_client_has_no_place() -> None:
    desk = Desk()
    assert desk.table.place(queue_of(0, 1), PRODUCER) is None
    ended = ClientSession()
    ended.end()
    with ended.call():
        assert desk.table.place(queue_of(0, 1), PRODUCER) is None
    assert len(desk.table) == 0


def test_marked_partition_takes_no_new_session_and_keeps_its_own() -> None:
    desk = Desk()
    (early,) = desk.join(queue_of(0, 1), PRODUCER, 1)
    marked = queue_of(0, 1, marked=0, version=2)
    desk.join(marked, PRODUCER, 3)
    assert desk.ask(early, marked).partition == 0
    assert desk.counts() == {0: (1, 0), 1: (3, 0)}


def test_only_partition_is_elected_although_it_is_marked() -> None:
    desk = Desk()
    desk.join(queue_of(4, marked=4), CONSUMER, 2)
    assert desk.counts() == {4: (0, 2)}


@pytest.mark.parametrize("draining", [(), (0,)], ids=["gone", "drains"])
def test_session_of_a_partition_that_left_is_elected_again(draining: tuple[int, ...]) -> None:
    desk = Desk()
    first, second = desk.join(queue_of(0, 1, 2), PRODUCER, 2)
    later = queue_of(1, 2, draining=draining, version=2)
    assert desk.ask(second, later).partition == 1
    assert desk.ask(first, later).partition == 2
    assert desk.counts() == {1: (1, 0), 2: (1, 0)}


def test_election_follows_the_load_of_all_front_ends() -> None:
    elsewhere = (PartitionLoad(0, 0, 5, 12.0), PartitionLoad(1, 0, 3, 12.0))
    desk = Desk(loads=lambda queue: QueueLoad(0, elsewhere))
    (client,) = desk.join(queue_of(0, 1), CONSUMER, 1)
    assert desk.ask(client, queue_of(0, 1), CONSUMER).partition == 1


def test_partition_that_no_report_names_yet_can_be_elected() -> None:
    desk = Desk(loads=lambda queue: QueueLoad(0, (PartitionLoad(0, 3, 0, 12),)))
    desk.join(queue_of(0, 1), PRODUCER, 2)
    assert desk.counts() == {1: (2, 0)}


def test_longest_silent_session_ends_when_the_table_is_full() -> None:
    desk, queue = Desk(sessions_max=3), queue_of(0, 1, 2, 3)
    first, second, third = desk.join(queue, PRODUCER, 3)
    desk.ask(first, queue)
    (fourth,) = desk.join(queue, PRODUCER, 1)
    assert len(desk.table) == 3
    second.end()
    assert len(desk.table) == 3
    third.end()
    assert desk.counts() == {0: (1, 0), 1: (1, 0)}
    assert desk.ask(fourth, queue).partition == 1


def crowd(desk: Desk, queue: Queue) -> list[ClientSession]:
    """Six producers at partition 0, of two partitions."""
    sessions = desk.join(queue_of(0), PRODUCER, 6)
    for session in sessions:
        desk.ask(session, queue)
    assert desk.counts() == {0: (6, 0)}
    return sessions


def test_sessions_stay_unless_the_queue_migrates_them() -> None:
    desk = Desk()
    queue = queue_of(0, 1, version=2)
    sessions = crowd(desk, queue)
    desk.clock.advance(10 * MIGRATION_MS)
    for session in sessions:
        desk.ask(session, queue)
    assert desk.counts() == {0: (6, 0)}


def test_sessions_migrate_one_at_a_time_until_they_are_spread() -> None:
    desk = Desk()
    sessions = crowd(desk, queue_of(0, 1, version=2))
    queue = queue_of(0, 1, version=3, migration=True)
    seen = []
    for _ in range(5):
        desk.clock.advance(MIGRATION_MS)
        for session in sessions:
            desk.ask(session, queue)
        seen.append(desk.counts())
    assert seen == [
        {0: (5, 0), 1: (1, 0)},
        {0: (4, 0), 1: (2, 0)},
        {0: (3, 0), 1: (3, 0)},
        {0: (3, 0), 1: (3, 0)},
        {0: (3, 0), 1: (3, 0)},
    ]


def test_migrating_sessions_leave_a_marked_partition() -> None:
    desk = Desk()
    sessions = desk.join(queue_of(0, 1), PRODUCER, 2)
    queue = queue_of(0, 1, marked=0, version=2, migration=True)
    desk.clock.advance(MIGRATION_MS)
    for session in sessions:
        desk.ask(session, queue)
    assert desk.counts() == {1: (2, 0)}


def test_session_does_not_migrate_within_a_request_or_beside_another() -> None:
    desk = Desk()
    before, queue = queue_of(0, 1, version=2), queue_of(0, 1, version=3, migration=True)
    client = crowd(desk, before)[0]
    with client.call():
        desk.table.place(before, PRODUCER)
        desk.clock.advance(MIGRATION_MS)
        # The receive was parked and looks again; then another request comes beside it.
        place = desk.table.place(queue, PRODUCER)
        assert desk.ask(client, queue) is place
        assert desk.counts() == {0: (6, 0)}
    assert desk.ask(client, queue).partition == 1


def test_counts_are_values() -> None:
    desk = Desk()
    desk.join(queue_of(0), CONSUMER, 1)
    assert desk.clients.counts(1) == {0: ClientCount(0, 1)}
