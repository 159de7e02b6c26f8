"""A local PostgreSQL is harmed as a whole: its sessions are paused and killed with it."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_postgres import program as server_program
from tests.real_stores import new_directory, running

LOOKS_MAX = 100_000


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    with running(LocalPostgres(new_directory("postgres"))) as started:
        yield started


def sessions(server: LocalPostgres) -> set[int]:
    """The processes that serve clients; the server's own ones come and go, too."""
    found = set()
    for each in server.processes(0):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if Path(f"/proc/{each.pid}/cmdline").read_bytes().startswith(b"postgres: dovemq "):
                found.add(each.pid)
    return found


@pytest.fixture
def busy_session(server: LocalPostgres) -> Iterator[subprocess.Popen[bytes]]:
    before = sessions(server)
    command = [server_program("psql"), server.url, "-c", "SELECT pg_sleep(1000)"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as client:
        assert any(sessions(server) - before for _ in range(LOOKS_MAX))
        yield client
        client.kill()


def states(server: LocalPostgres) -> set[str]:
    """The states of all processes of the server; T is a paused one."""
    stats = [Path(f"/proc/{each.pid}/stat").read_text() for each in server.processes(0)]
    return {stat.rpartition(")")[2].split()[0] for stat in stats}


def test_paused_server_stops_its_sessions_too(
    server: LocalPostgres, busy_session: subprocess.Popen[bytes]
) -> None:
    server.pause(0)
    assert any(states(server) == {"T"} for _ in range(LOOKS_MAX))
    assert server.running == []
    server.resume(0)
    assert any("T" not in states(server) for _ in range(LOOKS_MAX))
    assert server.answers(0)


def test_killed_server_leaves_no_session_that_would_keep_a_new_one_from_starting(
    server: LocalPostgres, busy_session: subprocess.Popen[bytes]
) -> None:
    server.kill(0)
    assert busy_session.wait() != 0
    server.restart(0)
    assert server.answers(0)
