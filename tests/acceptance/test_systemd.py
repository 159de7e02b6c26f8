"""The unit of systemd: valid, confined, and in step with what the server does."""

import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from dovemq.configuration import resolve
from dovemq.settings import LEAVE_SECONDS, all_settings
from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import OUR_PROGRAMS, ROOT, program

FOLDER = ROOT / "deploy" / "systemd"
UNIT = FOLDER / "dovemq.service"
PROGRAM = "/opt/dovemq/bin/dovemq"
EXPOSURE_MAX = 20
"""Tenths of systemd's scale, which calls up to 2.0 OK and up to 10.0 unsafe."""
SECONDS_MAX = 120


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with the program of these tests, since systemd asks whether it is there."""
    found = tmp_path / UNIT.name
    found.write_text(UNIT.read_text().replace(PROGRAM, str(OUR_PROGRAMS / "dovemq")))
    return found


def _analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [program("systemd-analyze"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)


def test_systemd_finds_no_fault_in_the_unit(unit: Path) -> None:
    done = _analyze("verify", "--man=no", str(unit))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_unit_leaves_the_service_little_of_the_system(unit: Path) -> None:
    done = _analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", str(unit))
    assert done.returncode == 0, done.stdout + done.stderr


def test_systemd_waits_until_the_server_has_answered_what_arrived() -> None:
    [seconds] = re.findall(r"^TimeoutStopSec=(\d+)s$", UNIT.read_text(), re.MULTILINE)
    settings = resolve({}, {}).settings
    assert int(seconds) >= LEAVE_SECONDS + settings.drain_seconds + 30


def test_shipped_settings_are_the_defaults_and_its_comments_are_settings(tmp_path: Path) -> None:
    text = (FOLDER / "dovemq.toml").read_text()
    file = tmp_path / "dovemq.toml"
    file.write_text(text)
    assert not resolve({}, {}, file).sources
    named = re.findall(r"^# (\w+) = ", text, re.MULTILINE)
    assert named
    assert set(named) <= {setting.name for setting in all_settings()}


def test_server_says_when_it_serves_and_when_it_stops(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        path = str(tmp_path / "notify")
        notified.bind(path)
        notified.settimeout(SECONDS_MAX)
        with LocalServer(tmp_path / "data", env={"NOTIFY_SOCKET": path}) as server:
            assert notified.recv(100) == b"READY=1"
            server.signal(signal.SIGTERM)
            assert notified.recv(100) == b"STOPPING=1"
            assert server.wait() == 0
