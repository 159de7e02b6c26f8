"""The staging folder: messages that were received and are not settled yet.

    state.json                  the queue, the last settled epoch, the ids that are owed
    0…042-000.json              the first entry of epoch 42: a slot, its file, its repeated rows
    0…042-003-<attempt>.arrow   what one attempt to fill slot 3 of epoch 42 received

An epoch is a micro-batch, a slot the share of one task. An attempt writes its file, then publishes
the next entry of the epoch's log. Entries are numbered without gaps and are published once, so
every attempt has read all entries before its own: it knows which slots are filled and which
messages are staged. Without this order two tasks could stage one message at the same time, if its
lease ended before the first of them had published it.

Only one epoch is unfinished at a time: the one after the last settled. Files of settled epochs are
ignored. This module uses neither the queue nor Spark.
"""

import secrets
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from dovemq.pipeline.source.columns import MESSAGE_ID, RECEIPT, SCHEMA
from dovemq.pipeline.source.errors import StagingStrange, StagingUnfit
from dovemq.pipeline.source.folders import StagingFolder

OWED_MAX: Final = 1_000_000
SLOTS_MAX: Final = 256
_STATE: Final = "state.json"
_DIGITS: Final = 12


class Promise(msgspec.Struct, frozen=True):
    """An offset in Spark's log: an epoch, and the number of slots that receive its rows."""

    staging: str
    epoch: int
    slots: int = 0
    count: int = 0

    def shares(self) -> list["Slot"]:
        """Returns the slots. They depend on the promise alone, and not on options."""
        return [
            Slot(self.staging, self.epoch, number, self.slots, (self.count + number) // self.slots)
            for number in range(self.slots)
        ]


class Slot(NamedTuple):
    """The work of one task: up to `count_max` rows of an epoch with `slots` slots."""

    staging: str
    epoch: int
    number: int
    slots: int
    count_max: int


class State(msgspec.Struct, frozen=True):
    """The state of a staging folder, written only by the driver's process.

    `owed` are messages that Spark has processed and whose receipts did not settle them. They come
    back to the queue, and are settled then instead of being read again.
    """

    queue: str
    staging: str
    settled: int = 0
    owed: frozenset[str] = frozenset()


class StagedEntry(msgspec.Struct, frozen=True):
    """A filled slot. `repeated` are rows of the file that are not returned: staged before, or
    owed."""

    slot: int
    file: str
    rows: int
    repeated: list[int]
    oldest_ms: int | None = None


class Received(NamedTuple):
    """The messages that one attempt received, as a file in memory."""

    ids: list[str]
    content: pa.Buffer
    oldest_ms: int | None


class Epoch:
    """The log of one epoch, as far as it was read."""

    def __init__(self, place: StagingFolder, number: int) -> None:
        self.number = number
        self.entries: list[StagedEntry] = []
        self.receipts: list[tuple[str, str]] = []
        """Message ids and receipts of all rows, also the repeated ones."""
        self._place = place

    def refresh(self) -> list[StagedEntry]:
        """Reads new entries, and returns all of them."""
        for entry in self._published(len(self.entries)):
            table = self._opened(entry).read_all().select([MESSAGE_ID, RECEIPT.name])
            self.receipts += zip(*(column.to_pylist() for column in table.columns), strict=True)
            self.entries.append(entry)
        return self.entries

    def entry_of(self, slot: int) -> StagedEntry | None:
        """Returns the entry of a slot without reading message files."""
        return next((entry for entry in self._published(0) if entry.slot == slot), None)

    def _published(self, first: int) -> Iterator[StagedEntry]:
        for number in range(first, SLOTS_MAX):
            content = self._place.read(self._name(number))
            if content is None:
                return
            yield msgspec.json.decode(content, type=StagedEntry)

    def publish(self, slot: int, received: Received, owed: frozenset[str]) -> StagedEntry | None:
        """Publishes what this attempt received. Returns None if another attempt filled the slot
        first."""
        file = f"{self._epoch_name()}-{slot:03}-{secrets.token_hex(8)}.arrow"
        self._place.write(file, memoryview(received.content))
        ids = received.ids
        for _ in range(SLOTS_MAX):
            if any(entry.slot == slot for entry in self.refresh()):
                self._place.remove(file)
                return None
            known = {message_id for message_id, _ in self.receipts} | owed
            entry = StagedEntry(slot, file, len(ids), _repeated(ids, known), received.oldest_ms)
            if self._place.publish(self._name(len(self.entries)), msgspec.json.encode(entry)):
                return entry
        raise StagingUnfit(self._place.location, "published files are not seen by other tasks")

    def read(self, entry: StagedEntry, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yields the rows of an entry in these columns, without repeated ones."""
        file = self._opened(entry)
        missing = set(columns).difference(file.schema.names)
        if missing:
            found = f"{entry.file} was received without the columns {', '.join(sorted(missing))}"
            remedy = "; read this batch to its end with the columns of its first run"
            raise StagingStrange(self._place.location, found + remedy)
        schema = pa.schema([SCHEMA.field(name) for name in columns])
        repeated = pa.array(entry.repeated, pa.int64())
        first = 0
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            rows = pa.array(range(first, first + batch.num_rows), pa.int64())
            first += batch.num_rows
            kept = batch.filter(pc.invert(pc.is_in(rows, repeated)))
            if kept.num_rows:
                arrays = [kept.column(name) for name in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _opened(self, entry: StagedEntry) -> "pa.ipc.RecordBatchFileReader":
        content = self._place.read(entry.file)
        if content is None:
            raise StagingStrange(self._place.location, f"epoch {self.number} is settled")
        return pa.ipc.open_file(content)

    def _name(self, number: int) -> str:
        return f"{self._epoch_name()}-{number:03}.json"

    def _epoch_name(self) -> str:
        return f"{self.number:0{_DIGITS}}"


class Staging:
    """The driver's side of the folder; holds the claim until `close` or the end of the process."""

    def __init__(self, place: StagingFolder, queue: str) -> None:
        self.place = place
        place.claim()
        try:
            self.state = self._opened_state(queue)
            self._remove_settled()
        except BaseException:
            self.close()
            raise
        self.epoch = Epoch(place, self.state.settled + 1)

    def check(self, promise: Promise) -> None:
        """Checks that a promise is of this folder, and of the unfinished epoch or the one
        before."""
        settled = self.state.settled
        if promise.staging != self.state.staging:
            raise StagingStrange(self.place.location, "the checkpoint belongs to another one")
        if promise.epoch not in (settled, settled + 1):
            found = f"it is settled up to epoch {settled}; the checkpoint is at {promise.epoch}"
            raise StagingStrange(self.place.location, found)

    def finish(self, settled: frozenset[str], owed: frozenset[str]) -> None:
        """Marks the epoch as settled except for what is owed, removes its files, and starts the
        next."""
        kept = sorted((self.state.owed - settled) | owed)[:OWED_MAX]
        self.state = msgspec.structs.replace(
            self.state, settled=self.epoch.number, owed=frozenset(kept)
        )
        self.place.write(_STATE, msgspec.json.encode(self.state))
        self.epoch = Epoch(self.place, self.state.settled + 1)
        self._remove_settled()

    def close(self) -> None:
        self.place.close()

    def _opened_state(self, queue: str) -> State:
        state = _read_state(self.place)
        if state is None:
            state = State(queue, secrets.token_hex(8))
            self.place.write(_STATE, msgspec.json.encode(state))
        if state.queue != queue:
            found = f"holds messages of {state.queue}, not of {queue}"
            raise StagingStrange(self.place.location, found)
        return state

    def _remove_settled(self) -> None:
        """Removes files of settled epochs, also those of attempts that ended late or were
        killed."""
        for name in self.place.names():
            number = name[:_DIGITS]
            if number.isdigit() and int(number) <= self.state.settled:
                self.place.remove(name)


def owed_in(place: StagingFolder, slot: Slot) -> frozenset[str]:
    """Returns the owed messages that were known when the slot was promised.

    Raises StagingStrange if the epoch is settled.
    """
    state = _read_state(place)
    if state is None:
        found = "a task finds no state.json there: driver and executors must see the same files"
        raise StagingUnfit(place.location, found)
    if state.staging != slot.staging:
        raise StagingStrange(place.location, "the task belongs to another one")
    if state.settled >= slot.epoch:
        raise StagingStrange(place.location, f"epoch {slot.epoch} is settled")
    return state.owed


def _read_state(place: StagingFolder) -> State | None:
    content = place.read(_STATE)
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=State)
    except msgspec.DecodeError as error:
        raise StagingStrange(place.location, f"{_STATE} cannot be read ({error})") from None


def _repeated(ids: Sequence[str], known: set[str]) -> list[int]:
    rows = []
    for row, message_id in enumerate(ids):
        if message_id in known:
            rows.append(row)
        known.add(message_id)
    return rows
