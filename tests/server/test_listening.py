"""`dovemq serve` as a process: where it listens, and what it says of that."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec


def _served(tmp_path: Path, *flags: str) -> tuple[Any, str]:
    """The announcement of a server, and its log."""
    data = ["--data", str(tmp_path / "data"), "--store", "memory://", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "dovemq", "serve", "--json", *data, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, logged = process.communicate()
    return msgspec.json.decode(line), logged.decode()


def test_admin_api_can_be_switched_off(tmp_path: Path) -> None:
    announced, _ = _served(tmp_path, "--no-admin")
    assert announced["admin_url"] is None
    assert announced["endpoint_url"].startswith("http://127.0.0.1:")


def test_admin_api_listens_on_an_address_of_its_own(tmp_path: Path) -> None:
    announced, _ = _served(tmp_path, "--admin-host", "127.0.0.2")
    assert announced["admin_url"].startswith("http://127.0.0.2:")


def test_listening_in_clear_beyond_loopback_is_warned_about(tmp_path: Path) -> None:
    _, logged = _served(tmp_path, "--host", "0.0.0.0", "--admin-host", "127.0.0.1")
    assert logged.count("listening on 0.0.0.0 without TLS") == 1


def test_loopback_is_not_warned_about(tmp_path: Path) -> None:
    assert "without TLS" not in _served(tmp_path)[1]
