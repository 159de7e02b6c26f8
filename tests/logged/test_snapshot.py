"""Snapshots that are taken while the partition goes on, against a model that knows everything."""

import random

import pytest

from dovemq.core.entry import DEAD, Entry
from dovemq.stores.owned.logged.encoding import LogGroup
from dovemq.stores.owned.logged.identities import Identities
from dovemq.stores.owned.logged.loading import loading
from dovemq.stores.owned.logged.replay import LogReplay, entry_of
from dovemq.stores.owned.logged.seals import Seals
from dovemq.stores.owned.logged.segments import Segments
from dovemq.stores.owned.logged.snapshot import SnapshotTaking
from tests.logged.groups import encoded, number, row

State = tuple[int, int, int]


class Model:
    """A log, and the state that it must be replayed to. Every group is durable at once."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.segments = Segments(1, 300)
        self.identities = Identities()
        self.log: dict[int, bytes] = {}
        self.entries: dict[int, Entry] = {}
        self.bookmark = 0
        self.taking: SnapshotTaking | None = None
        self._sent = 0

    def append(self, group: LogGroup) -> int:
        data = encoded(group)
        position = self.segments.next_position()
        self.log[position] = data
        self.segments.appended(position, len(data), [each.sequence for each in group.sends])
        return position

    def step(self) -> None:
        action = self.rng.choice(
            (self.send, self.send, self.delete, self.lease, self.move, self.begin, self.page)
        )
        action()

    def send(self) -> None:
        rows = [row(number(1, self._sent + at)) for at in range(self.rng.randint(1, 3))]
        self._sent += len(rows)
        self.append(LogGroup(0, sends=rows))
        self.entries.update((each.sequence, entry_of(each)) for each in rows)

    def delete(self) -> None:
        if self.entries:
            sequence = self.rng.choice(list(self.entries))
            self.entries.pop(sequence).receive_count = DEAD
            self.append(LogGroup(0, deletes=[sequence]))
            self.segments.removed(sequence)

    def lease(self) -> None:
        if self.entries:
            entry = self.entries[self.rng.choice(list(self.entries))]
            entry.visible_ms += self.rng.randint(1, 9)
            entry.receive_count += 1
            entry.first_received_ms = entry.first_received_ms or 11
            state = (entry.visible_ms, entry.receive_count, entry.first_received_ms)
            self.append(LogGroup(0, leases=[(entry.sequence, *state)]))

    def move(self) -> None:
        if self.entries:
            entry = self.entries[self.rng.choice(list(self.entries))]
            moved = row(entry.sequence, visible_ms=entry.visible_ms)
            entry.receive_count = entry.first_received_ms = 0
            position = self.append(LogGroup(0, moved=[moved]))
            self.segments.moved(entry.sequence, position)

    def begin(self) -> None:
        if self.taking is None:
            entries = [self.entries[each] for each in sorted(self.entries)]
            position = self.segments.next_position()
            self.taking = SnapshotTaking(
                position, entries, self.entries.get, self.identities, self.segments, 2
            )
            self.page()

    def page(self) -> None:
        if self.taking is None:
            return
        self.append(LogGroup(0, page=self.taking.page(0)))
        if self.taking.complete:
            self.bookmark, self.taking = self.taking.position, None

    def recovered(self) -> LogReplay:
        replay = LogReplay(Segments(2), self.bookmark, Seals({}))
        for position in sorted(self.log):
            if position >= self.bookmark:
                replay.take(position, self.log[position])
        replay.take_effect(self.segments.next_position(), replay.in_doubt().group)
        return replay


def states(entries: list[Entry]) -> dict[int, State]:
    return {
        each.sequence: (each.visible_ms, each.receive_count, each.first_received_ms)
        for each in entries
    }


@pytest.mark.parametrize("seed", range(60))
def test_snapshot_and_tail_give_the_state_of_now(seed: int) -> None:
    model = Model(seed)
    for _ in range(120):
        model.step()
    replay = model.recovered()
    assert replay.is_complete()
    loaded = [entry for page in loading(replay) for entry in page]
    assert [entry.sequence for entry in loaded] == sorted(model.entries)
    assert states(loaded) == states(list(model.entries.values()))
    last = max(model.log)
    for entry in loaded:
        expected = model.segments.position_of(entry.sequence)
        if expected != last:
            assert replay.segments.position_of(entry.sequence) == expected


def test_snapshots_were_taken_and_used_in_these_runs() -> None:
    models = [Model(seed) for seed in range(20)]
    for model in models:
        for _ in range(120):
            model.step()
    assert sum(1 for model in models if model.bookmark) >= 15


def test_missing_page_is_noticed() -> None:
    model = Model(3)
    for _ in range(40):
        model.send()
    model.begin()
    while model.taking is not None:
        model.page()
    replay = model.recovered()
    assert len(replay.pages) > 5
    del replay.pages[3]
    assert not replay.is_complete()


def test_page_has_known_ids() -> None:
    identities = Identities()
    identities.claim(b"k", "a", 1, sent_ms=10)
    identities.note(row(2, adopted=True, message_id="b"))
    here = {2: Entry(2, 0, 0)}
    taking = SnapshotTaking(5, [], here.get, identities, Segments(1), 2)
    page = taking.page(20)
    assert page.last
    assert [key_row[:3] for key_row in page.keys] == [(b"k", "a", 1)]
    assert [adopted[1] for adopted in page.adopted] == [2]


def test_entries_take_some_ten_bytes_each() -> None:
    segments = Segments(1)
    entries = []
    for group in range(200):
        sequences = [number(1, group * 10 + at) for at in range(10)]
        segments.appended(segments.next_position(), 10_000, sequences)
        entries += [
            Entry(each, 10**12 + group, 10**12 + group, 0, 0, None, 19) for each in sequences
        ]
    taking = SnapshotTaking(5, entries, lambda _: None, Identities(), segments, 2_000)
    assert len(taking.page(0).entries) < 12 * len(entries)
