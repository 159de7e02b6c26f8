"""HAProxy with the configuration of `docs/how-to/several-front-ends.md`, on other ports."""

import os
import re
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from dovemq.testing.daemons import LOOK_SECONDS, START_SECONDS_MAX, Daemon, LocalService
from dovemq.testing.local_server import LocalServer
from tests.acceptance.documents import blocks
from tests.acceptance.programs import program

HOST: Final = "127.0.0.1"
PAGE: Final = "docs/how-to/several-front-ends.md"
_BIND: Final = re.compile(r"^( +bind) \S+", re.MULTILINE)
_SERVER: Final = re.compile(r"^( +server \w+) \S+:9324( .*port) 9325", re.MULTILINE)


def written_configuration() -> str:
    """Returns the configuration as the page shows it."""
    [found] = [text for language, text in blocks(PAGE) if language == "haproxy"]
    return found


def fitted_configuration(port: int, servers: Sequence[tuple[int, int]]) -> str:
    """Returns it with other addresses; `servers` are the ports of SQS and of the admin API."""
    text, binds = _BIND.subn(rf"\1 {HOST}:{port}", written_configuration())
    left: Iterator[tuple[int, int]] = iter(servers)

    def fitted(line: re.Match[str]) -> str:
        sqs_port, admin_port = next(left)
        return f"{line[1]} {HOST}:{sqs_port}{line[2]} {admin_port}"

    text, lines = _SERVER.subn(fitted, text)
    assert (binds, lines) == (1, len(servers)), "the page names one address and three front ends"
    return text


class LocalHaproxy(LocalService):
    """One address for front ends that run already."""

    def __init__(self, directory: Path, port: int, servers: Sequence[LocalServer]) -> None:
        super().__init__(directory)
        self.port = port
        self._servers = servers

    @property
    def endpoint_url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def launch(self) -> None:
        ports = [(_port(each.endpoint_url), _port(each.admin_url)) for each in self._servers]
        path = self.directory / "haproxy.cfg"
        path.write_text(fitted_configuration(self.port, ports))
        command = [program("haproxy"), "-db", "-f", str(path)]
        self.daemon = Daemon(command, os.environ, self.directory / "haproxy.log")
        until = time.monotonic() + START_SECONDS_MAX
        while not self._listens():
            if not self.daemon.running or time.monotonic() > until:
                raise self.daemon.failure()
            time.sleep(LOOK_SECONDS)

    def _listens(self) -> bool:
        try:
            socket.create_connection((HOST, self.port)).close()
        except ConnectionError:
            return False
        return True


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
