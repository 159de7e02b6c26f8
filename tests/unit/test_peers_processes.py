"""A contestant's server is frozen, thawed and ended with all its processes."""

import os
import signal
import sys
from pathlib import Path

import pytest

from bench.peers.processes import NotStarted, free_port, launch, tree

SERVE = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1"]
PARENT = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


def change_of(pid: int) -> int:
    """Waits for the next stop or continuation of a child."""
    reported = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED)
    assert reported is not None
    return reported.si_code


def test_frozen_server_stands_still_until_it_is_thawed(tmp_path: Path) -> None:
    port = free_port()
    server = launch([*SERVE, str(port)], port, tmp_path)
    try:
        server.freeze()
        assert change_of(server.pid) == os.CLD_STOPPED
        server.thaw()
        assert change_of(server.pid) == os.CLD_CONTINUED
        server.freeze()
    finally:
        server.stop()
    assert not Path(f"/proc/{server.pid}").exists()


def test_tree_holds_the_children_of_the_server(tmp_path: Path) -> None:
    port = free_port()
    server = launch([sys.executable, "-c", PARENT, *SERVE, str(port)], port, tmp_path)
    members = tree(server.pid)
    os.kill(members[1], signal.SIGTERM)
    server.stop()
    assert (members[0], len(members)) == (server.pid, 2)


def test_server_that_does_not_listen_is_reported_with_its_log(tmp_path: Path) -> None:
    with pytest.raises(NotStarted, match="no such thing"):
        launch([sys.executable, "-c", "raise SystemExit('no such thing')"], 1, tmp_path)
