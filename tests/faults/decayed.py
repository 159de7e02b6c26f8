"""A small store on a disk that decays, and what must hold of it afterwards."""

import asyncio
import itertools
import random
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dovemq.core.commands import Ask, Draft, Peek
from dovemq.core.ports import Partition
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.load.decay import STRETCH_BYTES, Decay, apply_decay
from dovemq.stores.sqlite import SqliteStore, open_store
from dovemq.stores.sqlite.damage.report import DamageReport
from dovemq.testing.clock import ManualClock

ACCOUNT: Final = "000000000000"
NAMES: Final = ("plain", "orders.fifo", "later", "busy")
MESSAGES_EACH: Final = 40
LARGE_EVERY: Final = 13
SIZES: Final = (40, 400, 1_600)
LARGE_SIZES: Final = (5_000, 18_000)
LEASE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
PAGE: Final = 1_000
PAGE_BYTES: Final = 4_096
FRAME_BYTES: Final = PAGE_BYTES + 24
LOG_HEADER_BYTES: Final = 32

_CACHE_BYTES: Final = 1 << 20


class State(Struct, frozen=True):
    queue: str
    body: str
    visible_ms: int
    receive_count: int


class Made(Struct, frozen=True):
    """A data directory after a run, with the messages in it and the messages that were deleted."""

    directory: Path
    now_ms: int
    stored: dict[str, State]
    settled: frozenset[str]

    def decayed(self, decay: Decay, into: Path) -> "Outcome":
        shutil.copytree(self.directory, into, ignore=shutil.ignore_patterns("reserve", "*-shm"))
        apply_decay(into, decay)
        return asyncio.run(_look(into, self.now_ms))

    def stored_at(self, decay: Decay) -> set[str]:
        """Messages that have bytes on the damaged part, found by searching for them there."""
        data = (self.directory / decay.file).read_bytes()
        hit = b"".join(data[start:end] for start, end in _hit(decay, len(data)))
        return {message_id for message_id in self.stored if message_id.encode() in hit}


class Outcome(Struct, frozen=True):
    """`served` is in the order of receives; `peeked` is the state of each message before."""

    peeked: dict[str, State]
    served: list[tuple[str, str, str]]
    reports: list[DamageReport]
    sound: bool

    @property
    def renamed_queues(self) -> list[str]:
        """Queues of which both rows were damaged, with the new names that a note reports."""
        notes = [note for report in self.reports for note in report.notes]
        return [note.rpartition("/")[2] for note in notes if "lost its name" in note]

    @property
    def lost(self) -> set[str]:
        return {str(each.message_id) for report in self.reports for each in report.lost}

    @property
    def returned(self) -> set[str]:
        return {str(each.message_id) for report in self.reports for each in report.returned}


def make(directory: Path, *, killed: bool) -> Made:
    """Make a store with messages of all kinds, freed pages, and a queue that was removed."""
    return asyncio.run(_make(directory, killed=killed))


def broken_promises(made: Made, decay: Decay, outcome: Outcome) -> Iterator[str]:
    """Check a flipped bit or a lost stretch: messages elsewhere are intact, lost ones are named."""
    yield from _wrong_contents(made, outcome)
    served = {message_id for message_id, _, _ in outcome.served}
    missing = made.stored.keys() - served
    if missing != outcome.lost:
        yield f"lost {sorted(missing)[:5]}, named {sorted(outcome.lost)[:5]}"
    if elsewhere := missing - made.stored_at(decay):
        yield f"lost though it was elsewhere: {sorted(elsewhere)[:5]}"
    if back := (served & made.settled) - outcome.returned:
        yield f"settled, and back without a word: {sorted(back)[:5]}"
    for message_id in served - outcome.returned - made.settled:
        peeked, known = outcome.peeked[message_id], made.stored[message_id]
        if peeked.queue in outcome.renamed_queues:
            known = replace(known, queue=peeked.queue)
        if peeked != known:
            yield f"{message_id} has another state: {peeked}"
    if not outcome.sound:
        yield "the store is not sound afterwards"


def broken_promises_of_a_cut(made: Made, outcome: Outcome) -> Iterator[str]:
    """Check a file without its end: lost messages are named or counted."""
    yield from _wrong_contents(made, outcome)
    served = {message_id for message_id, _, _ in outcome.served}
    missing = made.stored.keys() - served
    # The log told of their end, and the end of the log is gone.
    back = made.settled & (served | outcome.lost)
    if not outcome.reports and (missing or back):
        yield f"nothing was said of {len(missing)} lost and {len(back)} returned"
    unnamed = sum(report.unnamed_count or 0 for report in outcome.reports)
    if len(missing - outcome.lost) > unnamed + len(back):
        yield f"{len(missing - outcome.lost)} are gone without a name, counted {unnamed}"
    if not outcome.sound:
        yield "the store is not sound afterwards"


def _wrong_contents(made: Made, outcome: Outcome) -> Iterator[str]:
    seen: set[str] = set()
    for message_id, queue, body in outcome.served:
        if message_id in seen:
            yield f"{message_id} was served twice"
        seen.add(message_id)
        known = made.stored.get(message_id)
        if known is None and message_id not in made.settled:
            yield f"{message_id} was never sent"
        elif known is not None and known.body != body:
            yield f"{message_id} has wrong contents"
        elif known is not None and queue not in (known.queue, *outcome.renamed_queues):
            yield f"{message_id} is in a wrong queue"


def _hit(decay: Decay, length: int) -> Iterable[tuple[int, int]]:
    """The whole pages, or frames of the log, that the decay touched."""
    unit, before = PAGE_BYTES, 0
    if decay.file.endswith("-wal"):
        unit, before = FRAME_BYTES, LOG_HEADER_BYTES
    last = decay.offset + (STRETCH_BYTES - 1 if decay.kind == "zero" else 0)
    for number in range(max(0, decay.offset - before) // unit, max(0, last - before) // unit + 1):
        yield before + number * unit, min(length, before + (number + 1) * unit)


async def _open(directory: Path, clock: ManualClock) -> SqliteStore:
    return await open_store(
        directory, rng=random.Random(3), clock=clock, cache_bytes_max=_CACHE_BYTES
    )


async def _make(directory: Path, *, killed: bool) -> Made:
    clock = ManualClock()
    store = await _open(directory, clock)
    settled: set[str] = set()
    numbers = itertools.count(1)
    rng = random.Random(11)
    for name in NAMES:
        queue = await _new_queue(store, clock, name)
        await _fill(store.partition(queue, 0), name, clock, numbers, rng)
        if name != "later":
            settled |= await _settle_some(store.partition(queue, 0), clock)
        if name == "orders.fifo":
            # What was sent so far is in the database file, the rest in the log.
            await store.close()
            store = await _open(directory, clock)
    gone = await _new_queue(store, clock, "gone")
    await _fill(store.partition(gone, 0), "gone", clock, numbers, rng)
    settled |= (await _peek_all(store, clock.now_ms(), "gone")).keys()
    await store.catalogue.remove(gone.key)
    while store.statistics.swept < MESSAGES_EACH:
        await store.flush()
    stored = await _peek_all(store, clock.now_ms())
    await store.flush()
    if killed:
        store.abandon()
    else:
        await store.close()
    return Made(directory, clock.now_ms(), stored, frozenset(settled))


async def _new_queue(store: SqliteStore, clock: ManualClock, name: str) -> Queue:
    now_ms = clock.now_ms()
    settings = QueueSettings(fifo=name.endswith(".fifo"))
    return await store.catalogue.create(Queue(0, QueueKey(ACCOUNT, name), settings, now_ms, now_ms))


async def _fill(
    partition: Partition,
    name: str,
    clock: ManualClock,
    numbers: "itertools.count[int]",
    rng: random.Random,
) -> None:
    fifo = name.endswith(".fifo")
    for number in range(MESSAGES_EACH):
        message_id = f"m{next(numbers):06d}"
        size = rng.choice(LARGE_SIZES if number % LARGE_EVERY == 0 else SIZES)
        # Each page that holds a part of it holds its id.
        body = (message_id + "-") * (size // len(message_id))
        draft = Draft(
            message_id,
            body,
            ACCOUNT,
            delay_ms=HOUR_MS if name == "later" else 0,
            group=f"g{number % 3}" if fifo else None,
            deduplication_id=message_id if fifo else None,
        )
        await partition.send([draft], clock.now_ms())
        clock.advance(1)


async def _settle_some(partition: Partition, clock: ManualClock) -> set[str]:
    """Release every second message that is leased now."""
    leased = (await partition.lease(Ask(10, LEASE_MS), clock.now_ms())).messages
    settled = leased[::2]
    await partition.settle([each.receipt for each in settled], clock.now_ms())
    return {each.message.message_id for each in settled}


async def _look(directory: Path, now_ms: int) -> Outcome:
    clock = ManualClock(now_ms)
    store = await _open(directory, clock)
    try:
        peeked = await _peek_all(store, now_ms)
        served = []
        for queue in await store.catalogue.page(None, "", "", PAGE):
            partition = store.partition(queue, 0)
            later_ms = now_ms + 2 * HOUR_MS
            while leased := (await partition.lease(Ask(10, LEASE_MS), later_ms)).messages:
                served += [(m.message.message_id, queue.key.name, m.message.body) for m in leased]
                await partition.settle([each.receipt for each in leased], later_ms)
        sound = (await store.verify()).sound
        return Outcome(peeked, served, store.damage(), sound)
    finally:
        await store.close()


async def _peek_all(store: SqliteStore, now_ms: int, prefix: str = "") -> dict[str, State]:
    found: dict[str, State] = {}
    for queue in await store.catalogue.page(None, prefix, "", PAGE):
        for each in await store.partition(queue, 0).peek(Peek(PAGE), now_ms):
            message = each.message
            found[message.message_id] = State(
                queue.key.name, message.body, each.visible_ms, each.receive_count
            )
    return found
