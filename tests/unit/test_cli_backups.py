"""`dovemq backup`, `verify` and `restore` over a data directory, and what `serve` prints."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dovemq
from dovemq.cli import main
from dovemq.testing.local_server import LocalServer

Command = Callable[..., str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    data = tmp_path_factory.mktemp("backups") / "data"
    with dovemq.open(data) as mq:
        mq.queue("jobs").send_all([f"message {number}" for number in range(100)])
        mq.create("jobs.fifo", content_deduplication=True).send("first", group="g")
    with LocalServer(data) as running:
        yield running


@pytest.fixture
def command(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    for name in list(os.environ):
        if name.startswith(("AWS_", "DOVEMQ_")):
            monkeypatch.delenv(name)
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)

    def run(*args: str, code: int = 0) -> str:
        assert main(args) == code, capsys.readouterr().err
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.err

    return run


def test_backup_is_restored_with_all_its_messages(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    assert command("backup", str(file)).startswith(f"{file}: ")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
    out = command("restore", str(file), "--data", str(tmp_path / "new"))
    assert "101 messages, 0 of them damaged" in out
    with dovemq.open(tmp_path / "new") as mq:
        assert mq.names() == ["jobs", "jobs.fifo"]
        assert len(mq.queue("jobs").peek(1000)) == 100
        assert [each.message.body for each in mq.queue("jobs.fifo").peek()] == ["first"]


def test_backup_as_json_gives_its_size(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    printed = json.loads(command("backup", str(file), "--json"))
    assert printed == {"file": str(file), "bytes": file.stat().st_size}


def test_backup_does_not_overwrite(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    file.write_text("precious")
    assert "exists" in command("backup", str(file), code=2)
    assert file.read_text() == "precious"


def test_backup_does_not_write_through_a_planted_link(command: Command, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    file = tmp_path / "copy"
    file.with_name("copy.part").symlink_to(victim)
    command("backup", str(file))
    assert victim.read_text() == "precious"
    assert file.is_file()
    assert not file.is_symlink()


def test_backup_into_a_missing_directory_is_one_line(command: Command, tmp_path: Path) -> None:
    text = command("backup", str(tmp_path / "no" / "copy"), code=1)
    assert "No such file or directory" in text
    assert len(text.splitlines()) == 1


def test_refused_backup_leaves_nothing_behind(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x" * 40)
    command("backup", str(tmp_path / "copy"), code=1)
    assert list(tmp_path.iterdir()) == []


def test_sound_store_is_verified(command: Command) -> None:
    assert command("verify") == "nothing is damaged\n"
    assert json.loads(command("verify", "--json")) == {"findings": []}


def test_damage_makes_verify_fail(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = "MARK" * 10
    with dovemq.open(tmp_path / "data") as mq:
        mq.queue("jobs").send(marker)
    database = next(p for p in (tmp_path / "data").iterdir() if marker.encode() in p.read_bytes())
    database.write_bytes(database.read_bytes().replace(marker.encode(), b"DAMAGED-" * 5))
    with LocalServer(tmp_path / "data") as damaged:
        for name, value in damaged.env.items():
            monkeypatch.setenv(name, value)
        assert "jobs" in command("verify", code=1)


def test_restore_refuses_a_directory_that_holds_something(
    command: Command, tmp_path: Path, server: LocalServer
) -> None:
    command("backup", str(tmp_path / "copy"))
    text = command("restore", str(tmp_path / "copy"), "--data", str(server.data), code=1)
    assert "not empty" in text


def test_restore_refuses_what_is_no_backup(command: Command, tmp_path: Path) -> None:
    (tmp_path / "copy").write_text("not a database " * 1000)
    directory = tmp_path / "new"
    assert "copy" in command("restore", str(tmp_path / "copy"), "--data", str(directory), code=1)
    assert not (directory / "dovemq.sqlite").exists()


def test_serve_prints_where_it_listens_and_no_secret(tmp_path: Path) -> None:
    data = tmp_path / "data"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DOVEMQ_")}
    with subprocess.Popen(
        [sys.executable, "-m", "dovemq", "serve", "--port", "0", "--data", str(data)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(6)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    text = "".join(lines)
    assert "SQS endpoint    http://127.0.0.1:" in text
    assert re.search(r"^console         http://127\.0\.0\.1:\d+/console/$", text, re.MULTILINE)
    assert f"data directory  {data}" in text
    assert lines[5].strip() == f'eval "$({sys.executable} -m dovemq env --data {data})"'
    assert json.loads((data / "root-key.json").read_text())["secret_access_key"] not in text


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--port", "x"], "--port: 'x' is not a whole number"),
        (["--store", "floppy://"], "names no store"),
        (["--host", "0.0.0.0", "--insecure-no-auth"], "--insecure-no-auth"),
        (["--config", "/no/such/file"], "No such file"),
    ],
)
def test_serve_refuses_wrong_settings(
    args: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--data", str(tmp_path), *args]) == 2
    assert expected in capsys.readouterr().err
