"""The lifecycle trace of a real server on a real S3 server: whole files, bounds, a dead store."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import uvloop
from pyarrow import fs

from bench.load import Access, Load, Signer, connect, tens
from bench.measured import access_of, create_queue
from dovemq.testing.local_s3 import LocalS3
from dovemq.testing.local_server import LocalServer, StartFailed
from tests.acceptance.test_metrics import scrape

ROUNDS_MAX = 2_000
SECRET = "do-not-show-this"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalS3]:
    with LocalS3(tmp_path_factory.mktemp("s3")) as running:
        yield running


def server_with(s3: LocalS3, place: Path, trace: str, *args: str) -> LocalServer:
    return LocalServer(place / "data", args=["--trace", trace, *args], env=s3.env)


def objects(s3: LocalS3, prefix: str) -> dict[str, int]:
    """Paths and sizes of all objects below the prefix."""
    selector = fs.FileSelector(f"{s3.bucket}/{prefix}", allow_not_found=True, recursive=True)
    return {each.path: each.size for each in s3.files.get_file_info(selector) if each.is_file}


def rows_of(s3: LocalS3, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path, filesystem=s3.files).to_pylist()
    return found


async def put_through(access: Access, messages: int, queue_url: str = "") -> str:
    """Send, receive and delete so many; answers the queue's URL."""
    url = queue_url or await create_queue(access)
    load = Load(Signer(access), url, 100)
    (connection,) = await connect(access.port, 1)
    await tens(connection, load, messages)
    connection.close()
    return url


def test_stopped_server_has_written_every_row_in_whole_files(s3: LocalS3, tmp_path: Path) -> None:
    with server_with(s3, tmp_path, s3.uri("stopped/trace")) as server:
        uvloop.run(put_through(access_of(server), 2_000))
        assert server.stop() == 0
    found = objects(s3, "stopped/trace")
    rows = [row for path in found for row in rows_of(s3, path)]
    events = [row["event"] for row in rows]
    counts = {event: events.count(event) for event in ("sent", "leased", "settled")}
    assert counts == {"sent": 2_000, "leased": 2_000, "settled": 2_000}
    assert all(path.endswith(".parquet") for path in found)


def test_killed_server_leaves_only_whole_files(s3: LocalS3, tmp_path: Path) -> None:
    args = ["--trace-rotate-seconds", "1"]
    with server_with(s3, tmp_path, s3.uri("killed"), *args) as server:
        url = ""
        for _ in range(ROUNDS_MAX):
            url = uvloop.run(put_through(access_of(server), 100, url))
            if len(objects(s3, "killed")) >= 2:
                break
        server.kill()
        before = objects(s3, "killed")
        assert len(before) >= 2
        assert all(rows_of(s3, path) for path in before)
        server.start()
        assert server.stop() == 0
    assert set(before) <= set(objects(s3, "killed"))


def test_oldest_files_go_beyond_the_size_that_was_asked_for(s3: LocalS3, tmp_path: Path) -> None:
    bytes_max = 1 << 20
    limits = ["--trace-rotate-rows", "1000", "--trace-bytes-max", str(bytes_max)]
    s3.files.create_dir(f"{s3.bucket}/bounded", recursive=True)
    oldest = f"{s3.bucket}/bounded/trace-20200101T000000-before-000001.parquet"
    with s3.files.open_output_stream(oldest) as stream:
        stream.write(bytes(bytes_max))
    with server_with(s3, tmp_path, s3.uri("bounded"), *limits) as server:
        uvloop.run(put_through(access_of(server), 2_000))
        assert server.stop() == 0
    found = objects(s3, "bounded")
    assert oldest not in found
    assert len(found) >= 1
    assert sum(found.values()) <= bytes_max


def dropped(server: LocalServer) -> float:
    key = server.access_key
    samples = scrape(server, key.key_id, key.secret)["dovemq_trace_rows"].samples
    return sum(each.value for each in samples if "dropped" in each.labels.values())


@pytest.mark.parametrize("fail", [LocalS3.stop, LocalS3.freeze], ids=["dead", "silent"])
def test_store_that_fails_costs_rows_by_count_and_the_service_goes_on(
    tmp_path: Path, fail: Callable[[LocalS3], None]
) -> None:
    args = ["--trace-rotate-seconds", "1"]
    with LocalS3(tmp_path / "s3") as s3:
        with server_with(s3, tmp_path, s3.uri("dead"), *args) as server:
            url = uvloop.run(put_through(access_of(server), 100))
            fail(s3)
            for _ in range(ROUNDS_MAX):
                uvloop.run(put_through(access_of(server), 100, url))
                if dropped(server) > 0:
                    break
            assert dropped(server) > 0
            uvloop.run(put_through(access_of(server), 100, url))
            assert server.stop() == 0
        assert server.log_tail().count("trace: rows are lost") == 1


@pytest.mark.parametrize(
    ("uri", "part"),
    [
        ("s3://absent/x?{options}", "(there is no bucket absent); name another place"),
        ("s3://dovemq/x?{options}&nope=1", "nope"),
        ("s3://dovemq/x?endpoint_override=127.0.0.1:1&scheme=http&region=x", "cannot be used"),
        ("ftp://dovemq/x", "ftp:// is not known; write one of"),
        (f"s3://key:{SECRET}@dovemq/x", "the URI holds a password or a key"),
        (f"s3://dovemq/x?secret_key={SECRET}", "the URI holds a password or a key"),
        ("hdfs://127.0.0.1:1/x", "cannot be used"),
    ],
)
def test_place_that_cannot_be_used_is_refused_at_the_start_in_one_sentence(
    s3: LocalS3, tmp_path: Path, uri: str, part: str
) -> None:
    text = uri.format(options=s3.uri("").partition("?")[2])
    with pytest.raises(StartFailed) as refused:
        server_with(s3, tmp_path, text).start()
    [line] = str(refused.value).splitlines()[1:]
    assert line.startswith("dovemq: ")
    assert part in line
    assert SECRET not in line


def load_run(server: LocalServer, s3: LocalS3, trace: str) -> int:
    size = ["--senders", "2", "--receivers", "2", "--messages", "100"]
    command = [sys.executable, "-m", "dovemq", "load", "run", *size, "--trace", trace]
    # The keys are those of the queue service: this S3 server takes any.
    environment = {**os.environ, **s3.env, **server.env}
    return subprocess.run(command, env=environment, capture_output=True).returncode


def test_load_run_writes_its_trace_there_too(s3: LocalS3, tmp_path: Path) -> None:
    with LocalServer(tmp_path / "data", args=["--store", "memory://"]) as server:
        assert load_run(server, s3, s3.uri("load")) == 0
        assert load_run(server, s3, s3.uri("load").replace("dovemq/", "absent/")) == 2
    rows = [row for path in objects(s3, "load") for row in rows_of(s3, path)]
    assert [row["event"] for row in rows].count("sent") == 200
