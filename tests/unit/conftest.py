"""Fixtures for tests of commands: a server, an environment without AWS keys, the command itself."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dovemq.cli import main
from dovemq.testing.local_server import LocalServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    data = tmp_path_factory.mktemp("server") / "data"
    with LocalServer(data, args=["--store", "memory://"]) as running:
        yield running


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No server is known from outside the test."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "DOVEMQ_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "nothing"))


@pytest.fixture
def known(clean: None, server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell has evaluated `dovemq env`."""
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)


Command = Callable[..., str]


@pytest.fixture
def dovemq(known: None, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*args: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(args) == code, capsys.readouterr().err
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.err

    return run
