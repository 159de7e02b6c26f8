"""The fenced blocks of documents, and the servers that their commands start."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.acceptance.programs import ROOT

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
START_SECONDS_MAX = 300
LOOK_SECONDS = 0.2


def blocks(document: str) -> list[tuple[str, str]]:
    """The fenced blocks of a document as (language, text)."""
    return BLOCK.findall((ROOT / document).read_text())


def two_free_ports() -> int:
    """A port whose successor is free as well, for the admin API."""
    for _ in range(100):
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    raise AssertionError("no two neighbouring ports are free")


@contextlib.contextmanager
def serving(command: str, port: int, *, env: Mapping[str, str], cwd: Path) -> Iterator[None]:
    """Runs a command as in a terminal of its own, from the time its server is ready."""
    log = cwd / f"serve-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=cwd,
            env=dict(env),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + START_SECONDS_MAX
        while not _is_ready(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(LOOK_SECONDS)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port + 1}/health/ready") as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False
