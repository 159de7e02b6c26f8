"""Messages that were received and are not settled yet, in files that every executor can read.

    lock                    held by the one process that receives
    state.json              the queue, the last settled epoch, ids that are done but not settled
    receipts.log            newer receipts of staged messages
    0…042.arrow             an epoch: rows and their receipts
    0…043.arrow.partial     an epoch that is being written; nobody reads it

An epoch is written, synced and renamed, and then its directory is synced: it is there whole, or
its messages come back to the queue when their leases end. Knows no queue and no Spark.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa

from dovemq.pipeline.durable import PARTIAL, lock_of, publish, write_durably
from dovemq.pipeline.source.columns import RECEIPT, SCHEMA
from dovemq.pipeline.source.errors import StagingBusy, StagingStrange

OWED_MAX: Final = 1_000_000
_SLICES: Final = b"slices"
_DIGITS: Final = 12
_SUFFIX: Final = ".arrow"


class State(msgspec.Struct, frozen=True):
    """`owed`: Spark is done with them, and their receipts did not settle them.

    They come back to the queue, and are settled then instead of being staged again.
    """

    queue: str
    settled: int = 0
    owed: frozenset[str] = frozenset()


class Slice(NamedTuple):
    """Record batches `first` up to, and without, `last` of a file: the work of one task."""

    path: str
    first: int
    last: int


class Staging:
    """Takes the lock when it is made, and keeps it until `close` or the end of the process."""

    def __init__(self, folder: Path, queue: str) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _locked(folder)
        self.log = ReceiptLog(folder / "receipts.log")
        try:
            self.state = self._read_state(queue)
            self._tidy()
            self.receipts = self._read_receipts()
        except BaseException:
            self.close()
            raise

    @property
    def last(self) -> int:
        return max(self.receipts, default=self.state.settled)

    def write(self, epoch: int, slices: int) -> "EpochWriter":
        return EpochWriter(self, epoch, slices)

    def forget(self, epoch: int, owed: frozenset[str] = frozenset()) -> None:
        """The epoch is settled but for what is owed; its file goes."""
        kept = sorted(self.state.owed | owed)[:OWED_MAX]
        settled = max(epoch, self.state.settled)
        self._save(msgspec.structs.replace(self.state, settled=settled, owed=frozenset(kept)))
        self.receipts.pop(epoch, None)
        epoch_path(self.folder, epoch).unlink(missing_ok=True)
        if not self.receipts:
            # All that it tells of is settled.
            self.log.clear()

    def pay(self, message_ids: frozenset[str]) -> None:
        """These are owed no longer."""
        if message_ids & self.state.owed:
            self._save(msgspec.structs.replace(self.state, owed=self.state.owed - message_ids))

    def close(self) -> None:
        self.log.close()
        os.close(self._lock)

    def _read_state(self, queue: str) -> State:
        try:
            state = msgspec.json.decode((self.folder / "state.json").read_bytes(), type=State)
        except FileNotFoundError:
            state = State(queue)
            self._save(state)
        except msgspec.DecodeError as error:
            raise StagingStrange(self.folder, f"state.json cannot be read ({error})") from None
        if state.queue != queue:
            raise StagingStrange(self.folder, f"holds messages of {state.queue}, not of {queue}")
        return state

    def _save(self, state: State) -> None:
        encoded = msgspec.json.encode(state)
        write_durably(self.folder / "state.json", lambda to: to.write_bytes(encoded))
        self.state = state

    def _tidy(self) -> None:
        """Away with what a crash left: files half written, and settled ones."""
        for path in self.folder.glob(f"*{PARTIAL}"):
            path.unlink()
        for epoch in _epochs(self.folder):
            if epoch <= self.state.settled:
                epoch_path(self.folder, epoch).unlink()

    def _read_receipts(self) -> dict[int, dict[str, str]]:
        """By epoch and message id, the newest each."""
        found = {}
        for epoch in _epochs(self.folder):
            with _opened(epoch_path(self.folder, epoch)) as file:
                table = file.read_all().select(["message_id", RECEIPT.name])
            found[epoch] = dict(zip(*(column.to_pylist() for column in table.columns), strict=True))
        for message_id, receipt in self.log.entries:
            for receipts in found.values():
                if message_id in receipts:
                    receipts[message_id] = receipt
        return found


class ReceiptLog:
    """Lines of message id and receipt; what a crash cut off its end is dropped."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        log = path.read_bytes()
        whole = log[: log.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        lines = [line.partition("\t") for line in whole.decode().splitlines()]
        self.entries = [(message_id, receipt) for message_id, _, receipt in lines]

    def add(self, message_id: str, receipt: str) -> None:
        self._file.write(f"{message_id}\t{receipt}\n".encode())

    def sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def clear(self) -> None:
        self._file.truncate(0)

    def close(self) -> None:
        self._file.close()


class EpochWriter:
    """`publish` or `discard` ends it."""

    def __init__(self, staging: Staging, epoch: int, slices: int) -> None:
        self._staging = staging
        self._epoch = epoch
        self._target = epoch_path(staging.folder, epoch)
        self._part = self._target.with_name(self._target.name + PARTIAL)
        self._file = self._part.open("wb")
        schema = SCHEMA.append(RECEIPT).with_metadata({_SLICES: str(slices)})
        self._writer = pa.ipc.new_file(self._file, schema)
        self.receipts: dict[str, str] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)
        ids, receipts = batch.column("message_id"), batch.column(RECEIPT.name)
        self.receipts.update(zip(ids.to_pylist(), receipts.to_pylist(), strict=True))

    def renew(self, message_id: str, receipt: str) -> None:
        """Of a row that is written already: the log has the newer receipt."""
        self.receipts[message_id] = receipt
        self._staging.log.add(message_id, receipt)

    def publish(self) -> None:
        self._writer.close()
        self._staging.log.sync()
        self._file.close()
        publish(self._part, self._target)
        self._staging.receipts[self._epoch] = self.receipts

    def discard(self) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)


def epoch_path(folder: Path, epoch: int) -> Path:
    return folder / f"{epoch:0{_DIGITS}}{_SUFFIX}"


def slices_between(folder: Path, start: int, end: int) -> list[Slice]:
    """Of the epochs after `start` up to `end`; the same for the same files, whenever asked."""
    found: list[Slice] = []
    for epoch in range(start + 1, end + 1):
        path = epoch_path(folder, epoch)
        try:
            with _opened(path) as file:
                batches = file.num_record_batches
                wished = int(file.schema.metadata[_SLICES])
        except FileNotFoundError:
            raise StagingStrange(folder, f"epoch {epoch} of the checkpoint is not there") from None
        count = min(wished, batches)
        edges = [batches * place // count for place in range(count + 1)]
        found += [Slice(str(path), *edge) for edge in itertools.pairwise(edges)]
    return found


def read_slice(part: Slice, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    path = Path(part.path)
    try:
        with _opened(path) as file:
            for place in range(part.first, part.last):
                batch = file.get_batch(place)
                arrays = [batch.column(name) for name in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
    except FileNotFoundError:
        raise StagingStrange(path.parent, f"{path.name} is not there, or settled") from None


def _locked(folder: Path) -> int:
    lock = lock_of(folder)
    if lock is None:
        raise StagingBusy(folder)
    return lock


def _epochs(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob(f"*{_SUFFIX}"))


@contextlib.contextmanager
def _opened(path: Path) -> "Iterator[pa.ipc.RecordBatchFileReader]":
    with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
        yield file
