"""The output of `dovemq serve`: commands that a user can copy into another terminal."""

import sys
from pathlib import Path

import pytest

from dovemq.cli.serve import program_name


def program(folder: Path) -> Path:
    path = folder / "dovemq"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_program_outside_the_path_is_named_by_its_shortest_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "argv", [str(program(tmp_path / ".venv" / "bin"))])
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)
    assert program_name() == ".venv/bin/dovemq"
    monkeypatch.chdir("/")
    assert program_name() == f"{tmp_path}/.venv/bin/dovemq".removeprefix("/")


def test_program_on_the_path_is_named_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(program(tmp_path))])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_name() == "dovemq"


def test_module_is_named_by_its_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/dovemq/__main__.py"])
    assert program_name() == f"{sys.executable} -m dovemq"
