"""The files of the trace: complete or absent, rotated, bounded, readable."""

import fcntl
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovemq.telemetry.columns import SCHEMA, TraceOrigin, table_of
from dovemq.telemetry.files import RotationLimits, TraceFiles
from dovemq.telemetry.folders import PARTIAL, LocalFolder
from dovemq.telemetry.lanes import NEVER, Chunk, entry_of
from dovemq.telemetry.schema import COLUMNS, VERSION, TraceEvent
from dovemq.telemetry.writing import TraceWriter

START_US = 1_700_000_000_000_000
ORIGIN = TraceOrigin("front", START_US * 1_000)
SENT = TraceEvent.SENT


class Shelf:
    """A directory of trace files and the clock that turns them over."""

    def __init__(self, directory: Path, **rotation: Any) -> None:
        self.directory = directory
        self.seconds = 0.0
        limits = {"rows_max": 1_000, "seconds_max": 10.0, "bytes_max": 1 << 30, **rotation}
        folder = LocalFolder(directory)
        self.files = TraceFiles(
            folder, ORIGIN, RotationLimits(**limits), lambda: int(self.seconds * 1e9)
        )

    def whole(self) -> list[Path]:
        return sorted(self.directory.glob("*.parquet"))

    def partial(self) -> list[Path]:
        return sorted(self.directory.glob("*" + PARTIAL))


class Filled:
    """A chunk of sends, and the rows that it must become."""

    def __init__(self, groups: int, seed: int = 1, *, answered: float = 1.0) -> None:
        self.chunk = Chunk()
        self.rows: list[dict[str, Any]] = []
        rng = random.Random(seed)
        for _ in range(groups):
            self._add_group(rng, answered)

    def _add_group(self, rng: random.Random, answered: float) -> None:
        """One to ten rows, some of them without a client."""
        lane, count, time_us = self.chunk.sent, rng.randrange(1, 11), len(self.rows)
        client = read_us = written_us = None
        if rng.random() < answered:
            client, read_us = f"127.0.0.1:{rng.randrange(40)}", time_us
            written_us = read_us + rng.randrange(10_000)
        queue, sender = f"0/q{rng.randrange(3)}", "000000000000"
        shared = {
            "ts_us": START_US + time_us,
            "at_us": START_US + time_us,
            "event": "sent",
            "queue": queue,
            "partition": 0,
            "sender": sender,
            "client": client,
            "front_end": "front",
        }
        if read_us is not None and written_us is not None:
            shared |= {"latency_us": written_us - read_us, "ot_us": START_US + written_us}
        for number in range(time_us, time_us + count):
            known = rng.random() < answered
            message_id = f"{rng.getrandbits(128):032x}" if known else None
            size, crc = rng.randrange(1 << 20), rng.getrandbits(32)
            lane.entries += entry_of(message_id or "", number, size, crc)
            own = {"message_id": message_id, "send_seq": number, "bytes": size, "body_crc32": crc}
            row = shared | own
            self.rows.append({column.name: row.get(column.name) for column in COLUMNS})
        read_ns, written_ns = (NEVER if us is None else us * 1_000 for us in (read_us, written_us))
        lane.end_group(count, queue, 0, time_us * 1_000, client, read_ns, written_ns, sender)


def chunk_of(groups: int, seed: int = 1) -> Chunk:
    return Filled(groups, seed).chunk


@pytest.mark.parametrize("answered", [1.0, 0.9, 0.0])
@pytest.mark.parametrize("seed", range(5))
def test_file_holds_what_was_recorded(tmp_path: Path, seed: int, answered: float) -> None:
    shelf = Shelf(tmp_path, rows_max=10**9)
    filled = [Filled(groups, seed + groups, answered=answered) for groups in (1, 7, 200)]
    expected = [row for each in filled for row in each.rows]
    for each in filled:
        shelf.files.add(each.chunk)
    assert shelf.files.finish() == len(expected)
    [file] = shelf.whole()
    assert pq.read_table(file).to_pylist() == expected


def test_first_rows_load_no_module(tmp_path: Path) -> None:
    """A library that is loaded under traffic delays requests; a new process shows it."""
    program = """
import sys
from pathlib import Path
from dovemq.telemetry.columns import TraceOrigin
from dovemq.telemetry.files import RotationLimits, TraceFiles
from dovemq.telemetry.folders import LocalFolder
from dovemq.telemetry.lanes import Chunk, entry_of

folder = LocalFolder(Path(sys.argv[1]))
files = TraceFiles(folder, TraceOrigin("front", 0), RotationLimits(10, 10.0, 1 << 30), lambda: 0)
before = set(sys.modules)
chunk = Chunk()
chunk.sent.entries += entry_of("id", 1, 1, 1)
chunk.sent.end_group(1, "0/q", 0, 1, "127.0.0.1:1", 1, 2, "0")
files.add(chunk)
assert files.finish() == 1
print(*sorted(set(sys.modules) - before))
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_label_that_is_null_points_nowhere_outside_its_dictionary() -> None:
    """Arrow follows the index of a null when it unites dictionaries, and would crash."""
    lane = Filled(3_000, answered=0.5).chunk.sent
    garbage = [pa.array([0x7F7F7F7F] * size, pa.int32()) for size in range(1, 2 * lane.rows, 997)]
    del garbage
    table = table_of(SENT, lane, ORIGIN)
    for name in ("client", "queue", "sender", "event", "front_end"):
        for chunk in table.column(name).chunks:
            raw = pa.Array.from_buffers(pa.int32(), len(chunk), [None, chunk.indices.buffers()[1]])
            assert 0 <= min(raw.to_pylist()) <= max(raw.to_pylist()) < len(chunk.dictionary)


def test_file_tells_its_columns_in_the_order_of_the_schema_and_its_version(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.files.add(chunk_of(3))
    shelf.files.finish()
    read = pq.ParquetFile(shelf.whole()[0])
    assert read.schema_arrow.names == [column.name for column in COLUMNS] == SCHEMA.names
    assert read.schema_arrow.metadata[b"dovemq.trace.version"] == VERSION.encode()
    compressions = {read.metadata.row_group(0).column(at).compression for at in range(len(COLUMNS))}
    assert compressions == {"ZSTD"}


def test_file_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.files.add(chunk_of(3))
    assert (len(shelf.whole()), len(shelf.partial())) == (0, 1)
    shelf.files.finish()
    assert (len(shelf.whole()), len(shelf.partial())) == (1, 0)


def test_file_is_due_after_so_many_rows_or_seconds(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, rows_max=1_000, seconds_max=10.0)
    assert (shelf.files.due, shelf.files.seconds_left) == (False, None)
    shelf.files.add(chunk_of(3))
    assert (shelf.files.due, shelf.files.seconds_left) == (False, 10.0)
    shelf.seconds = 10.0
    assert shelf.files.due
    shelf.files.finish()
    assert not shelf.files.due
    shelf.files.add(chunk_of(1_000))
    assert shelf.files.due


def test_oldest_files_go_beyond_the_bound_and_the_newest_stays(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, bytes_max=1)
    names = []
    for _ in range(3):
        shelf.files.add(chunk_of(5))
        shelf.files.finish()
        shelf.files.remove_oldest()
        shelf.seconds += 60
        [newest] = shelf.whole()
        names.append(newest.name)
    assert names == sorted(set(names))


def test_leftover_of_a_killed_process_is_removed_and_a_growing_file_is_not(tmp_path: Path) -> None:
    left = tmp_path / f"trace-20200101T000000-dead-000001.parquet{PARTIAL}"
    held = tmp_path / f"trace-20200101T000000-live-000001.parquet{PARTIAL}"
    other = tmp_path / "notes.partial"
    for path in (left, held, other):
        path.write_bytes(b"PAR1")
    with held.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        Shelf(tmp_path)
        assert sorted(tmp_path.iterdir()) == sorted([held, other])


def test_writer_makes_files_of_what_it_is_given_and_of_the_rest_at_its_end(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, rows_max=1)
    writer = TraceWriter(shelf.files)
    chunks = [chunk_of(20, seed) for seed in range(4)]
    for chunk in chunks:
        writer.put(chunk)
    writer.close()
    assert writer.rows_written == sum(chunk.rows for chunk in chunks)
    assert (writer.rows_waiting, writer.rows_failed) == (0, 0)
    assert len(shelf.whole()) == 4


class FailingFiles(TraceFiles):
    """Files on a disk that fails and works again."""

    rows = 0
    seconds_left = None
    due = True

    def __init__(self) -> None:
        self.failures_left = 2
        self.discards = 0

    def add(self, chunk: Chunk) -> None:
        self.rows = chunk.rows

    def finish(self) -> int:
        if self.failures_left:
            self.failures_left -= 1
            raise OSError(28, "No space left on device")
        rows, self.rows = self.rows, 0
        return rows

    def remove_oldest(self) -> tuple[int, int]:
        return 7, 700

    def discard(self) -> None:
        self.discards += 1
        self.rows = 0


def test_failed_disk_loses_rows_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    files = FailingFiles()
    writer = TraceWriter(files)
    chunks = [chunk_of(10, seed) for seed in range(3)]
    for chunk in chunks:
        writer.put(chunk)
    writer.close()
    assert writer.rows_failed == chunks[0].rows + chunks[1].rows
    assert writer.rows_written == chunks[2].rows
    assert files.discards == 2
    assert (writer.error, writer.failing) == ("OSError: [Errno 28] No space left on device", False)
    assert (writer.files_kept, writer.bytes_kept) == (7, 700)
    assert caplog.text.count("No space left") == 1


def test_discarded_file_leaves_nothing_behind(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.files.add(chunk_of(3))
    shelf.files.discard()
    assert list(tmp_path.iterdir()) == []
