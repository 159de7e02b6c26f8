"""Traces on other file systems: complete files only, bounded folders, failing stores."""

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from dovemq.core.locations import parse_location
from dovemq.telemetry import remote
from dovemq.telemetry.columns import TraceOrigin
from dovemq.telemetry.files import RotationLimits, TraceFiles
from dovemq.telemetry.folders import Folder
from dovemq.telemetry.lanes import Chunk, entry_of
from dovemq.telemetry.remote import FolderUnusable, RemoteFolder, open_folder
from dovemq.telemetry.writing import TraceWriter

ROWS = 50


def chunk_of(rows: int = ROWS) -> Chunk:
    chunk = Chunk()
    for number in range(rows):
        chunk.sent.entries += entry_of(f"id-{number}", number, 10, number)
        chunk.sent.end_group(1, "0/q", 0, number, "127.0.0.1:1", number, number + 1, "0")
    return chunk


def files_in(folder: Folder, **limits: Any) -> TraceFiles:
    rotation: dict[str, Any] = {"rows_max": 1, "seconds_max": 10.0, "bytes_max": 1 << 30, **limits}
    clock = iter(range(0, 10**15, 10**9))
    return TraceFiles(
        folder, TraceOrigin("front", 0), RotationLimits(**rotation), lambda: next(clock)
    )


class CountedSystem:
    """A file system on this machine that counts listings and can fail by the kind of request."""

    def __init__(self, directory: Path) -> None:
        self.failing: set[str] = set()
        self.listings = 0
        self.wait = threading.Event()
        self.wait.set()
        self._files = fs.SubTreeFileSystem(str(directory), fs.LocalFileSystem())

    def get_file_info(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        self._fail("list")
        self.listings += 1
        return list(self._files.get_file_info(selector))

    def open_output_stream(self, path: str, compression: str | None) -> object:
        self.wait.wait(60)
        self._fail("write")
        return self._files.open_output_stream(path, compression=compression)

    def move(self, path: str, to: str) -> None:
        self._fail("move")
        self._files.move(path, to)

    def delete_file(self, path: str) -> None:
        self._fail("delete")
        self._files.delete_file(path)

    def _fail(self, kind: str) -> None:
        if kind in self.failing:
            raise OSError(f"the store refuses to {kind}")


class Store:
    def __init__(self, directory: Path, *, shows_growing_files: bool = False) -> None:
        (directory / "trace").mkdir()
        self.directory = directory / "trace"
        self.system = CountedSystem(directory)
        self.folder = RemoteFolder(self.system, "trace/", shows_growing_files=shows_growing_files)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_file_is_there_only_when_it_is_whole(store: Store) -> None:
    files = files_in(store.folder)
    files.add(chunk_of())
    assert store.names() == []
    assert files.finish() == ROWS
    [name] = store.names()
    assert pq.read_table(store.directory / name).num_rows == ROWS


def test_file_has_a_hidden_name_until_it_is_whole_where_growing_files_are_shown(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path, shows_growing_files=True)
    files = files_in(store.folder)
    files.add(chunk_of())
    store.system.failing = {"move", "delete"}
    with pytest.raises(OSError, match="refuses to move"):
        files.finish()
    [left] = store.names()
    assert left.startswith(".trace-")
    assert left.endswith(".partial")
    files.discard()
    store.system.failing = {"move"}
    files.add(chunk_of())
    with pytest.raises(OSError, match="refuses to move"):
        files.finish()
    assert store.names() == [left]
    files.discard()
    store.system.failing = set()
    files.add(chunk_of())
    files.finish()
    assert len(store.names()) == 2


def test_oldest_files_go_and_the_folder_is_not_listed_for_each(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "FILES_PER_LISTING", 5)
    (store.directory / "trace-0-other-000001.parquet").write_bytes(bytes(100_000))
    (store.directory / "notes.txt").write_bytes(bytes(100_000))
    files = files_in(store.folder, bytes_max=50_000)
    kept = []
    for _ in range(10):
        files.add(chunk_of())
        files.finish()
        files.remove_oldest()
        kept.append(sum(path.stat().st_size for path in store.directory.glob("*.parquet")))
    assert max(kept) <= 50_000
    assert len(store.names()) > 2
    assert "notes.txt" in store.names()
    assert store.system.listings == 2


def test_one_file_removes_a_bounded_number_of_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RemoteFolder, "removals_max", 3)
    for number in range(9):
        (store.directory / f"trace-0-other-{number:06d}.parquet").write_bytes(bytes(1_000))
    files = files_in(store.folder, bytes_max=1)
    files.add(chunk_of())
    files.finish()
    files.remove_oldest()
    assert len(store.names()) == 10 - 3


def test_file_that_another_front_end_has_removed_is_no_failure(store: Store) -> None:
    files = files_in(store.folder, bytes_max=1)
    files.add(chunk_of())
    files.finish()
    files.remove_oldest()
    [gone] = store.names()
    (store.directory / gone).unlink()
    files.add(chunk_of())
    files.finish()
    files.remove_oldest()
    assert len(store.names()) == 1


def test_failing_store_costs_rows_by_count_and_is_reported_once(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.system.failing = {"write"}
    writer = TraceWriter(files_in(store.folder))
    for _ in range(3):
        writer.put(chunk_of())
    writer.close()
    assert (writer.rows_written, writer.rows_failed, writer.rows_waiting) == (0, 3 * ROWS, 0)
    assert caplog.text.count("refuses to write") == 1


def test_files_that_cannot_be_removed_cost_no_rows_and_are_reported_once(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.system.failing = {"delete"}
    writer = TraceWriter(files_in(store.folder, bytes_max=1))
    for _ in range(3):
        writer.put(chunk_of())
    writer.close()
    assert (writer.rows_written, writer.rows_failed) == (3 * ROWS, 0)
    assert caplog.text.count("refuses to delete") == 1


def test_rows_wait_for_a_slow_store_and_are_counted_as_waiting(store: Store) -> None:
    store.system.wait.clear()
    writer = TraceWriter(files_in(store.folder))
    for _ in range(4):
        writer.put(chunk_of())
    assert writer.rows_waiting >= 3 * ROWS
    store.system.wait.set()
    writer.close()
    assert (writer.rows_written, writer.rows_waiting) == (4 * ROWS, 0)


def test_file_is_sent_before_it_takes_too_much_memory(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "FILE_BYTES_MAX", 100)
    monkeypatch.setattr("dovemq.telemetry.files.ROW_GROUP_ROWS", ROWS)
    files = files_in(store.folder, rows_max=10**9, seconds_max=10.0**9)
    files.add(chunk_of(ROWS - 1))
    assert not files.due
    files.add(chunk_of(1))
    assert files.due


@pytest.mark.parametrize(
    ("uri", "part"),
    [
        ("s3://bucket/x?nope=1", "nope"),
        ("s3://bucket/x?allow_bucket_creation=true&region=us-east-1", "allow_bucket_creation"),
        ("s3:///x", "bucket"),
    ],
)
def test_uri_that_makes_no_sense_is_refused_in_one_sentence(uri: str, part: str) -> None:
    with pytest.raises(FolderUnusable, match=part) as refused:
        open_folder(parse_location(uri))
    assert "\n" not in str(refused.value)


def test_arrow_without_that_file_system_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Bare:
        class FileSystem:
            @staticmethod
            def from_uri(uri: str) -> None:
                raise pa.ArrowNotImplementedError("Arrow compiled without S3 support")

    monkeypatch.setattr(remote, "fs", Bare)
    with pytest.raises(FolderUnusable, match="without S3 support"):
        open_folder(parse_location("s3://bucket/x"))
