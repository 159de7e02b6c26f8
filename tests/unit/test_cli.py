"""Commands against a real server: what they print and how they end."""

import io
import json
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dovemq.cli import build_parser, main
from dovemq.testing.local_server import LocalServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    data = tmp_path_factory.mktemp("cli") / "data"
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


def as_json(text: str) -> Any:
    return json.loads(text)


@pytest.fixture
def queue(dovemq: Command) -> str:
    name = f"q-{uuid.uuid4()}"
    dovemq("queue", "create", name)
    return name


def test_created_queue_is_printed_as_url(dovemq: Command, server: LocalServer) -> None:
    name = f"q-{uuid.uuid4()}"
    out = dovemq("queue", "create", name, "DelaySeconds=3", "--tag", "team=a")
    assert out == f"{server.endpoint_url}/000000000000/{name}\n"
    shown = as_json(dovemq("queue", "show", name, "--json"))
    assert shown["Attributes"]["DelaySeconds"] == "3"
    assert shown["Tags"] == {"team": "a"}


def test_name_with_fifo_suffix_makes_a_fifo_queue(dovemq: Command) -> None:
    name = f"q-{uuid.uuid4()}.fifo"
    dovemq("queue", "create", name)
    assert "FifoQueue" in dovemq("queue", "show", name)


def test_queues_are_listed_with_counts(dovemq: Command, queue: str) -> None:
    dovemq("send", queue, "hello")
    lines = dovemq("queue", "list", "--prefix", queue).splitlines()
    assert lines[0].split() == ["QUEUE", "VISIBLE", "LEASED", "DELAYED"]
    assert lines[1].split() == [queue, "1", "0", "0"]
    (found,) = as_json(dovemq("queue", "list", "--prefix", queue, "--json"))["queues"]
    assert found["name"] == queue


def test_attributes_and_tags_are_changed(dovemq: Command, queue: str) -> None:
    dovemq("queue", "set", queue, "DelaySeconds=9", "OrderHint=5")
    dovemq("queue", "tag", queue, "a=1", "b=2")
    dovemq("queue", "tag", queue, "--remove", "a")
    shown = as_json(dovemq("queue", "show", queue, "--json"))
    assert (shown["Attributes"]["DelaySeconds"], shown["Tags"]) == ("9", {"b": "2"})
    assert shown["Attributes"]["OrderHint"] == "5"


def test_sent_message_is_received_and_deleted(dovemq: Command, queue: str) -> None:
    sent = as_json(dovemq("send", queue, "hello", "--attribute", "k=v", "--json"))
    out = as_json(dovemq("receive", queue, "--max", "10", "--delete", "--json"))
    (message,) = out["Messages"]
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], "hello")
    assert message["MessageAttributes"] == {"k": {"DataType": "String", "StringValue": "v"}}
    counts = dovemq("queue", "list", "--prefix", queue).splitlines()[1]
    assert counts.split()[1:] == ["0", "0", "0"]


def test_received_message_comes_back_unless_deleted(dovemq: Command, queue: str) -> None:
    dovemq("send", queue, "hello")
    assert "hello" in dovemq("receive", queue, "--lease", "0")
    assert "hello" in dovemq("receive", queue)
    assert dovemq("receive", queue) == ""


def test_body_may_come_from_standard_input(
    dovemq: Command, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("two\nlines\n"))
    dovemq("send", queue)
    assert "two\nlines\n" in dovemq("receive", queue)


def test_each_line_may_be_a_message(
    dovemq: Command, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "".join(f"{number}\n" for number in range(25))
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert dovemq("send", queue, "--lines") == "25 sent, 0 failed\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("good\n\n"))
    assert "''" in dovemq("send", queue, "--lines", code=1)


def test_peek_leaves_messages_alone(dovemq: Command, queue: str) -> None:
    dovemq("send", queue, "one two  three")
    assert "visible" in dovemq("peek", queue)
    (message,) = as_json(dovemq("peek", queue, "--json"))["messages"]
    assert (message["body"], message["receive_count"]) == ("one two  three", 0)
    assert "one two three" in dovemq("peek", queue)


def test_purge_and_delete(dovemq: Command, queue: str) -> None:
    dovemq("send", queue, "hello")
    assert dovemq("queue", "purge", queue) == f"{queue} purged\n"
    assert as_json(dovemq("peek", queue, "--json"))["messages"] == []
    dovemq("queue", "delete", queue)
    assert "does not exist" in dovemq("queue", "show", queue, code=1)


def test_dead_letters_are_moved_back(dovemq: Command, queue: str) -> None:
    dead = f"dead-{uuid.uuid4()}"
    dovemq("queue", "create", dead)
    arn = as_json(dovemq("queue", "show", dead, "--json"))["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    dovemq("queue", "set", queue, f"RedrivePolicy={policy}")
    dovemq("send", queue, "poison")
    dovemq("receive", queue, "--lease", "0")
    assert dovemq("receive", queue) == ""
    assert dovemq("queue", "move", dead, "--wait") == "completed: 1 messages moved\n"
    assert "COMPLETED" in dovemq("queue", "moves", dead)
    assert "poison" in dovemq("receive", queue)


def test_unknown_move_cannot_be_cancelled(dovemq: Command) -> None:
    assert "TaskHandle" in dovemq("queue", "cancel-move", "x", code=1)


def test_doctor_shows_settings_with_their_source(
    dovemq: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOVEMQ_DRAIN_SECONDS", "7")
    report = as_json(dovemq("doctor", "--json"))
    settings = {each["name"]: each for each in report["settings"]}
    assert settings["drain_seconds"]["source"] == "DOVEMQ_DRAIN_SECONDS"
    assert settings["region"]["source"] == "default"
    assert all(check["ok"] for check in report["checks"])
    assert "drain_seconds" in dovemq("doctor")


def test_doctor_tells_what_spark_lacks_and_does_not_fail_for_it(
    dovemq: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    checks = as_json(dovemq("doctor", "--json"))["checks"]
    (spark,) = (check for check in checks if check["name"].startswith("Spark"))
    assert "jre-headless" in spark["found"] or "dovemq[spark]" in spark["found"]


def test_doctor_fails_where_no_server_is(
    clean: None, capsys: pytest.CaptureFixture[str], unused_port: int
) -> None:
    assert main(["doctor", "--port", str(unused_port)]) == 1
    assert "FAILED" in capsys.readouterr().out


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_env_prints_export_lines_for_a_shell(
    clean: None, server: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    port = server.endpoint_url.rpartition(":")[2]
    assert main(["env", "--data", str(server.data), "--port", port]) == 0
    key = server.access_key
    assert capsys.readouterr().out.splitlines() == [
        f"export AWS_ENDPOINT_URL_SQS={server.endpoint_url}",
        f"export AWS_ACCESS_KEY_ID={key.key_id}",
        f"export AWS_SECRET_ACCESS_KEY={key.secret}",
        "export AWS_REGION=us-east-1",
        "export AWS_DEFAULT_REGION=us-east-1",
        "unset AWS_SESSION_TOKEN AWS_PROFILE",
    ]


def test_env_without_a_key_file_says_what_to_do(
    clean: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env", "--data", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "root-key.json" in printed.err
    assert "start the service once" in printed.err


def test_data_directory_alone_gives_access(
    clean: None, server: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    port = server.endpoint_url.rpartition(":")[2]
    assert main(["queue", "create", "own", "--data", str(server.data), "--port", port]) == 0
    assert "own" in capsys.readouterr().out


def test_missing_key_is_explained(
    clean: None, server: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["queue", "show", "x", "--endpoint-url", server.endpoint_url]) == 1
    assert "dovemq env" in capsys.readouterr().err


def test_unreachable_server_is_one_line(
    clean: None, unused_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["receive", "x", "--port", str(unused_port)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dovemq: http://127.0.0.1:")
    assert "dovemq serve" in line


def test_wrong_setting_is_wrong_use(
    clean: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOVEMQ_PROT", "1")
    assert main(["env"]) == 2
    assert "did you mean DOVEMQ_PORT?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["nothing"],
        ["queue"],
        ["queue", "create"],
        ["queue", "create", "x", "noequals"],
        ["receive", "q", "--max", "0"],
        ["receive", "q", "--wait", "-1"],
        ["serve", "--colour", "red"],
        ["restore", "no-such-file"],
    ],
)
def test_wrong_use_ends_with_two(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == 2
    assert "usage: dovemq" in capsys.readouterr().err


def test_contradictory_use_ends_with_two(dovemq: Command, queue: str) -> None:
    assert "--lines" in dovemq("send", queue, "body", "--lines", code=2)
    assert "--remove" in dovemq("queue", "tag", queue, code=2)


def commands(parser: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for action in parser._actions:
        if hasattr(action, "choices") and isinstance(action.choices, dict):
            for name, child in action.choices.items():
                yield from commands(child, (*path, name))
            return
    yield path, parser


def test_every_command_has_json_and_an_example() -> None:
    found = dict(commands(build_parser()))
    assert {path[0] for path in found} >= {
        "serve", "env", "queue", "send", "receive", "peek", "backup", "restore", "verify", "doctor",
    }  # fmt: skip
    for path, parser in found.items():
        text = parser.format_help()
        assert "--json" in text, path
        assert f"dovemq {' '.join(path)}" in parser.epilog, path


def test_input_that_is_not_utf8_is_wrong_use(
    dovemq: Command, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for args in ([], ["--lines"]):
        stream = io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8")
        monkeypatch.setattr("sys.stdin", stream)
        assert "not text in utf-8" in dovemq("send", queue, *args, code=2)
    assert "not text in utf-8" in dovemq("send", queue, "\udcff", code=2)


def test_lines_cannot_share_a_deduplication_id(dovemq: Command) -> None:
    err = dovemq("send", "q.fifo", "--lines", "--deduplication-id", "a", code=2)
    assert "--deduplication-id" in err


def test_peek_at_a_path_without_a_name_is_wrong_use(dovemq: Command) -> None:
    assert "neither the name nor the URL" in dovemq("peek", "/", code=2)


def test_host_that_is_no_name_at_all_is_told(
    clean: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--host", "a" * 70 + ".b", "--data", str(tmp_path / "data")]) == 1
    assert "cannot listen on" in capsys.readouterr().err
