"""The file that shows local commands where the server of a data directory listens."""

import os
import subprocess
import sys
from pathlib import Path

from dovemq.system.running import (
    RUNNING_FILE,
    RunningServer,
    announced,
    find_running,
    front_end_directory,
)
from dovemq.testing.local_server import LocalServer


def running(pid: int) -> RunningServer:
    return RunningServer("https://127.0.0.1:1", "https://127.0.0.1:2", None, "us-east-1", pid)


def test_server_is_found_while_it_runs(tmp_path: Path) -> None:
    assert find_running(tmp_path) is None
    with announced(tmp_path, running(os.getpid())):
        assert find_running(tmp_path) == running(os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_front_ends_that_share_a_directory_are_found_until_the_last_one_stops(
    tmp_path: Path,
) -> None:
    first, second = (front_end_directory(tmp_path, port) for port in (7001, 7002))
    for directory in (first, second):
        directory.mkdir()
    with announced(second, running(os.getpid())):
        with announced(first, running(os.getppid())):
            assert find_running(tmp_path) == running(os.getppid())
        assert find_running(tmp_path) == running(os.getpid())
    assert find_running(tmp_path) is None


def test_file_of_a_process_that_has_ended_is_ignored(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with announced(tmp_path, running(ended.pid)):
        assert find_running(tmp_path) is None


def test_file_that_is_damaged_is_ignored(tmp_path: Path) -> None:
    for text in ("", "{}", "[1, 2]", '{"pid": "x"}'):
        (tmp_path / RUNNING_FILE).write_text(text)
        assert find_running(tmp_path) is None


def test_directory_that_is_missing_does_not_stop_the_server(tmp_path: Path) -> None:
    with announced(tmp_path / "missing", running(os.getpid())):
        assert find_running(tmp_path / "missing") is None


def test_file_is_left_by_a_killed_server_and_replaced_by_the_next(tmp_path: Path) -> None:
    server = LocalServer(tmp_path / "data")
    with server:
        found = find_running(server.data)
        assert found is not None
        assert (found.endpoint_url, found.pid) == (server.endpoint_url, server.pid)
        server.kill()
        assert (server.data / RUNNING_FILE).exists()
        assert find_running(server.data) is None
    with server:
        found = find_running(server.data)
        assert found is not None
        assert found.pid == server.pid
    assert not (server.data / RUNNING_FILE).exists()
