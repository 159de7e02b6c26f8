"""`dovemq dev cassandra|redis|postgres` without servers: records, mistakes, missing programs."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovemq.cli import main
from dovemq.system.process_ids import ProcessId, process_id
from dovemq.testing.cluster_record import ClusterRecord, read_record, write_record

URL = "redis://127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Stands for a node, in a group of its own as nodes are."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as started:
        yield started
        started.kill()


def record(*processes: ProcessId, ready: bool = True) -> ClusterRecord:
    ports = tuple(range(7001, 7007))
    return ClusterRecord("redis", URL, 6, ports, 15, dict(enumerate(processes)), ready)


def refused(capsys: pytest.CaptureFixture[str], code: int, *args: str) -> str:
    """The message of a command that ends with the code."""
    try:
        ended = main(args)
    except SystemExit as error:
        ended = int(error.code or 0)
    assert ended == code
    return capsys.readouterr().err


def test_url_of_a_running_store_is_printed_alone(
    tmp_path: Path, process: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path, record(process_id(process.pid)))
    assert main(["dev", "redis", "url", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{URL}\n"
    assert main(["dev", "redis", "url", "--data", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"url": URL}


def test_store_that_does_not_run_has_no_url(
    tmp_path: Path, process: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ("dev", "redis", "url", "--data", str(tmp_path))
    assert "holds no redis" in refused(capsys, 1, *ask)
    write_record(tmp_path, record())
    assert f"dovemq dev redis up --data {tmp_path}" in refused(capsys, 1, *ask)
    write_record(tmp_path, record(process_id(process.pid), ready=False))
    assert "no redis that is ready" in refused(capsys, 1, *ask)


def test_down_ends_the_recorded_processes(
    tmp_path: Path, process: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path, record(process_id(process.pid)))
    assert main(["dev", "redis", "down", "--data", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ended": True}
    assert process.wait() == -15
    left = read_record(tmp_path)
    assert left is not None
    assert (left.processes, left.ready, left.ports) == ({}, False, record().ports)


def test_down_leaves_another_program_with_a_recorded_number_alone(
    tmp_path: Path, process: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path, record(ProcessId(process.pid, "an earlier start")))
    assert main(["dev", "redis", "down", "--data", str(tmp_path)]) == 0
    assert "not running" in capsys.readouterr().out
    assert process.poll() is None


def test_directory_of_another_kind_is_not_touched(
    tmp_path: Path, process: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path, record(process_id(process.pid)))
    found = refused(capsys, 1, "dev", "postgres", "down", "--data", str(tmp_path))
    assert "holds redis, not postgres" in found
    assert process.poll() is None


def test_second_start_in_a_directory_is_refused(
    tmp_path: Path,
    process: subprocess.Popen[bytes],
    capsys: pytest.CaptureFixture[str],
    program: None,
) -> None:
    write_record(tmp_path, record(process_id(process.pid)))
    up = ("dev", "redis", "up", "--data", str(tmp_path))
    assert f"end it by dovemq dev redis down --data {tmp_path}" in refused(capsys, 1, *up)
    write_record(tmp_path, record())
    assert "holds a cluster with the port 7001" in refused(capsys, 1, *up, "--port", "7010")


def test_damaged_record_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cluster.json").write_text("{")
    found = refused(capsys, 1, "dev", "cassandra", "url", "--data", str(tmp_path))
    assert "damaged cluster.json" in found


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redis-server that ends at once."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "redis-server").write_text("#!/bin/sh\necho cannot listen\nexit 1\n")
    (folder / "redis-server").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")


def test_node_that_does_not_start_is_reported_with_its_log(
    tmp_path: Path, program: None, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "redis"
    found = refused(capsys, 1, "dev", "redis", "up", "--data", str(place), "--detach")
    assert "cannot listen" in found
    left = read_record(place)
    assert left is not None
    assert not left.processes


def test_missing_server_is_reported_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = refused(capsys, 2, "dev", "redis", "up", "--data", str(tmp_path / "data"))
    assert "redis-server is not installed: apt-get install redis-server" in found


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["cassandra", "up", "--nodes", "4"], "4 is more than 3"),
        (["redis", "up", "--port", "60000"], "60000 is more than 55535"),
        (["redis", "up", "--appendfsync", "never"], "none of always, everysec, no"),
        (["postgres", "up", "--nodes", "2"], "unknown option '--nodes'"),
    ],
)
def test_wrong_option_is_refused(
    options: list[str], found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--data", str(tmp_path / "data")]
    assert found in refused(capsys, 2, "dev", *options, *place)
    assert not (tmp_path / "data").exists()


def test_file_in_place_of_the_directory_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    found = refused(capsys, 2, "dev", "redis", "up", "--data", str(file))
    assert "is not a directory" in found
