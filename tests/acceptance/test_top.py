"""`dovemq top` on a real server: in a real terminal, which tmux provides, and off a terminal."""

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import OUR_PROGRAMS, clean_environment, program, run

SEEN_SECONDS_MAX = 60
LOOK_SECONDS = 0.2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with LocalServer(tmp_path_factory.mktemp("top") / "data") as server:
        for name in ("orders", "invoices"):
            _dovemq(server, "queue", "create", name)
        _dovemq(server, "send", "orders", "tea for two")
        yield server


def _dovemq(server: LocalServer, *words: str, **variables: str) -> str:
    env = clean_environment(server.data, **server.env, **variables)
    return run([OUR_PROGRAMS / "dovemq", *words], env=env)


class Terminal:
    """A command in a terminal of tmux, which has a server of its own."""

    def __init__(self, server: LocalServer, socket: Path, command: str) -> None:
        self._tmux = [program("tmux"), "-S", str(socket), "-f", "/dev/null"]
        self._env = clean_environment(socket.parent, **server.env)
        line = f"{shlex.quote(str(OUR_PROGRAMS / 'dovemq'))} {command}; echo code $?; cat"
        self._ask("new-session", "-d", "-x", "80", "-y", "24", line)

    def _ask(self, *words: str) -> str:
        command = [*self._tmux, *words]
        return subprocess.run(
            command, env=self._env, capture_output=True, text=True, check=True
        ).stdout

    def press(self, *keys: str) -> None:
        self._ask("send-keys", *keys)

    def shrink(self, columns: int, lines: int) -> None:
        self._ask("resize-window", "-x", str(columns), "-y", str(lines))

    @property
    def screen(self) -> str:
        return self._ask("capture-pane", "-p")

    def until(self, holds: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + SEEN_SECONDS_MAX
        while not holds(found := self.screen):
            assert time.monotonic() < deadline, f"the screen stays:\n{found}"
            time.sleep(LOOK_SECONDS)
        return found

    def close(self) -> None:
        self._ask("kill-server")


@pytest.fixture
def terminal(server: LocalServer, tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(server, tmp_path / "tmux", "top")
    yield made
    made.close()


def test_keys_work_in_a_real_terminal(terminal: Terminal) -> None:
    terminal.until(lambda screen: "invoices" in screen and "2 queues  1 visible" in screen)
    terminal.press(">")
    terminal.until(lambda screen: 0 < screen.find(" orders ") < screen.find(" invoices "))
    terminal.press("Up", "Enter")
    terminal.until(lambda screen: "000000000000/orders" in screen and "received/s" in screen)
    terminal.press("Escape")
    terminal.until(lambda screen: "invoices" in screen)
    terminal.press("/")
    terminal.until(lambda screen: "part of ACCOUNT/NAME" in screen)
    terminal.press("inv")
    terminal.until(lambda screen: 'filter "inv" finds 1' in screen)
    terminal.shrink(40, 14)
    found = terminal.until(lambda screen: "invoices" in screen and "LEASED" not in screen)
    assert "OLDEST" in found
    terminal.press("Enter")
    terminal.press("q")
    terminal.until(lambda screen: "code 0" in screen)


def test_interruption_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.until(lambda screen: "invoices" in screen)
    terminal.press("C-c")
    found = terminal.until(lambda screen: "code" in screen)
    assert found.split("\n")[:2] == ["dovemq: interrupted", "code 130"]


def test_snapshots_off_a_terminal_are_text_or_json(server: LocalServer) -> None:
    shown = _dovemq(server, "top", "--sort", "visible")
    assert "2 queues  1 visible" in shown
    assert shown.index("orders") < shown.index("invoices")
    lines = _dovemq(server, "top", "--json", "--count", "2").splitlines()
    assert [json.loads(line)["overview"]["queues"] for line in lines] == [2, 2]
    assert "received/s" in _dovemq(server, "top", "orders")


def test_unknown_queue_and_lost_server_are_errors(server: LocalServer) -> None:
    for words in (("top", "unknown"), ("top", "--endpoint-url", "http://127.0.0.1:9")):
        env = clean_environment(server.data, **server.env)
        env.pop("AWS_ENDPOINT_URL_DOVEMQ")
        command = [OUR_PROGRAMS / "dovemq", *words]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("dovemq: ")
