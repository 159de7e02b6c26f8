"""The program as a whole: help, mistakes, settings, `doctor`, `env` and the search for a server."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dovemq as dovemq_package
from dovemq.cli import main
from dovemq.testing.local_server import LocalServer
from tools.reference import commands_page

Command = Callable[..., str]


def as_json(text: str) -> Any:
    return json.loads(text)


def test_doctor_gives_its_verdict_first(dovemq: Command) -> None:
    lines = dovemq("doctor").splitlines()
    assert lines[0] == "ok: the server can be used"
    assert "drain_seconds" not in dovemq("doctor")
    report = as_json(dovemq("doctor", "--json"))
    assert report["ok"] is True
    assert {check["state"] for check in report["checks"]} <= {"ok", "absent"}


def test_doctor_lists_settings_with_their_source_and_type(
    dovemq: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOVEMQ_DRAIN_SECONDS", "7")
    report = as_json(dovemq("doctor", "--settings", "--json"))
    settings = {each["name"]: (each["value"], each["source"]) for each in report["settings"]}
    assert settings["drain_seconds"] == (7, "DOVEMQ_DRAIN_SECONDS")
    assert settings["region"] == ("us-east-1", "default")
    assert settings["strict_aws"] == (False, "default")
    assert settings["trace"] == (None, "default")
    assert "drain_seconds" in dovemq("doctor", "--settings")


def test_doctor_shows_no_password(dovemq: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOVEMQ_STORE", "cassandra://dove:pigeon@10.0.0.1,10.0.0.2/queues")
    for shown in (dovemq("doctor", "--settings"), dovemq("doctor", "--settings", "--json")):
        assert "cassandra://dove:***@10.0.0.1,10.0.0.2/queues" in shown
        assert "pigeon" not in shown


def test_optional_part_that_is_missing_is_absent_and_not_broken(
    dovemq: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    report = as_json(dovemq("doctor", "--json"))
    (spark,) = (check for check in report["checks"] if check["name"] == "extra spark")
    assert (spark["state"], report["ok"]) == ("absent", True)
    assert "jre-headless" in spark["found"] or "EXTRAS=spark" in spark["found"]


def test_doctor_fails_where_no_server_is(
    clean: None, capsys: pytest.CaptureFixture[str], unused_port: int
) -> None:
    assert main(["doctor", "--port", str(unused_port)]) == 1
    assert capsys.readouterr().out.startswith("broken: ")


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def exported(server: LocalServer, url: str) -> list[str]:
    key = server.access_key
    return [
        f"export AWS_ENDPOINT_URL_SQS={url}",
        f"export AWS_ACCESS_KEY_ID={key.key_id}",
        f"export AWS_SECRET_ACCESS_KEY={key.secret}",
        "export AWS_REGION=us-east-1",
        "export AWS_DEFAULT_REGION=us-east-1",
        "unset AWS_SESSION_TOKEN AWS_PROFILE",
    ]


def test_env_finds_the_port_of_the_running_server_in_its_directory(
    clean: None, server: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env", "--data", str(server.data)]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == exported(server, server.endpoint_url)
    assert printed.err == ""


def test_env_says_when_no_server_answers(
    clean: None, server: LocalServer, capsys: pytest.CaptureFixture[str], unused_port: int
) -> None:
    assert main(["env", "--data", str(server.data), "--port", str(unused_port)]) == 0
    printed = capsys.readouterr()
    url = f"http://127.0.0.1:{unused_port}"
    assert printed.out.splitlines() == exported(server, url)
    assert printed.err.startswith(f"dovemq: the server does not answer: {url}")


def test_env_without_a_key_file_says_what_to_do(
    clean: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env", "--data", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "root-key.json" in printed.err
    assert "start the service once" in printed.err


def test_data_directory_alone_gives_key_and_address(
    clean: None, server: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["queue", "create", "own", "--data", str(server.data)]) == 0
    assert main(["peek", "own", "--data", str(server.data)]) == 0
    assert f"{server.endpoint_url}/000000000000/own" in capsys.readouterr().out


def test_admin_api_of_a_running_server_is_found_by_its_endpoint(
    clean: None,
    server: LocalServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DOVEMQ_DATA", str(server.data))
    for name, value in server.env.items():
        if name != "AWS_ENDPOINT_URL_DOVEMQ":
            monkeypatch.setenv(name, value)
    assert main(["queue", "list"]) == 0
    assert "QUEUE" in capsys.readouterr().out


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
    assert line.startswith(f"dovemq: http://127.0.0.1:{unused_port}: Connection refused;")
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
        ["nothing"],
        ["queue"],
        ["queue", "create"],
        ["queue", "create", "x", "noequals"],
        ["receive", "q", "--max", "0"],
        ["receive", "q", "--wait", "-1"],
        ["serve", "--colour", "red"],
        ["restore", "no-such-file"],
        ["peek", "/"],
        ["send", "a/b/c", "body"],
    ],
)
def test_wrong_use_ends_with_two(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == 2
    assert "usage: dovemq" in capsys.readouterr().err


def test_every_command_has_json_and_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^## `?dovemq ([a-z -]+?)`?$", commands_page(), re.MULTILINE)
    assert {*commands} >= {"serve", "env", "queue create", "send", "move", "copy", "doctor"}
    for command in commands:
        with pytest.raises(SystemExit):
            main([*command.split(), "--help"])
        text = capsys.readouterr().out
        assert command == "help" or "--json" in text, command
        assert f"dovemq {command}" in text.partition("example:")[2], command


def test_bare_program_and_help_print_the_same_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    bare = capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["help"])
    assert (ended.value.code, capsys.readouterr().out) == (0, bare)
    with pytest.raises(SystemExit):
        main(["help", "queue", "create"])
    assert "usage: dovemq queue create" in capsys.readouterr().out


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"dovemq {dovemq_package.__version__}\n"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["sned"], "did you mean send?"),
        (["queue", "creat", "x"], "did you mean create?"),
        (["send", "q", "hello", "--dealy", "3"], "unknown option '--dealy'; did you mean --delay?"),
        (["peek", "q", "--zzz"], "unknown option '--zzz'\nfor help: dovemq peek --help"),
        (["peek", "q", "r"], "unknown argument 'r'"),
    ],
)
def test_mistake_is_answered_by_its_command_with_the_nearest_word(
    args: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(args)
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    assert expected in printed
    assert printed.count("usage:") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_knows_commands_and_options(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("dovemq", "cancel-move", "deduplication-id"):
        assert word in script


def test_host_that_is_no_name_at_all_is_refused(
    clean: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--host", "a" * 70 + ".b", "--data", str(tmp_path / "data")]) == 1
    assert "cannot listen on" in capsys.readouterr().err
