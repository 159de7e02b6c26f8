"""`dovemq account …` and `dovemq audit` against a real server."""

import io
import json
import os
import stat
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import botocore.exceptions
import pytest

from dovemq.cli import main
from dovemq.testing.local_server import LocalServer

PASSWORD = "correct horse battery"


class Shell:
    """Runs commands as whoever the variables say."""

    def __init__(
        self,
        server: LocalServer,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.server = server
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.be(server.env)

    def be(self, variables: Mapping[str, str]) -> None:
        kept = {name: text for name, text in os.environ.items() if name[:4] not in ("AWS_", "DOVE")}
        self._monkeypatch.setattr(os, "environ", {**kept, **variables})

    def be_key(self, made: Mapping[str, Any]) -> None:
        key = {
            "AWS_ACCESS_KEY_ID": made["key_id"],
            "AWS_SECRET_ACCESS_KEY": made["secret"],
        }
        self.be({**self.server.env, **key})

    def run(self, *args: str | Path, code: int = 0) -> tuple[str, str]:
        self._capsys.readouterr()
        ended = main([str(arg) for arg in args])
        printed = self._capsys.readouterr()
        assert ended == code, printed
        return printed.out, printed.err

    def json(self, *args: str, code: int = 0) -> Any:
        return json.loads(self.run(*args, "--json", code=code)[0])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with LocalServer(tmp_path_factory.mktemp("accounts") / "data") as running:
        yield running


@pytest.fixture
def shell(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell(server, monkeypatch, capsys)


@pytest.fixture
def name() -> str:
    return f"a-{uuid.uuid4()}"


@pytest.fixture
def made(shell: Shell, name: str) -> dict[str, Any]:
    """The first key of an account of that name."""
    added: dict[str, Any] = shell.json("account", "add", name)
    return added


def sqs(server: LocalServer, made: Mapping[str, Any]) -> Any:
    return boto3.client(
        "sqs",
        endpoint_url=server.endpoint_url,
        region_name=server.region,
        aws_access_key_id=made["key_id"],
        aws_secret_access_key=made["secret"],
    )


def works(server: LocalServer, made: Mapping[str, Any]) -> bool:
    try:
        sqs(server, made).list_queues()
    except botocore.exceptions.ClientError:
        return False
    return True


def test_new_account_uses_its_own_queues_at_once(
    shell: Shell, server: LocalServer, name: str
) -> None:
    out, err = shell.run("account", "add", name, "--queues-max", "3", "--role", "viewer")
    pairs = dict(line.split("  ", 1) for line in out.splitlines())
    made = {key.strip(): text.strip() for key, text in pairs.items()}
    assert "not shown again" in err
    assert made["expires"] == "never"
    key = {"key_id": made["key id"], "secret": made["secret"]}
    url = sqs(server, key).create_queue(QueueName="jobs")["QueueUrl"]
    assert url == f"{server.endpoint_url}/{made['account']}/jobs"
    shown, _ = shell.run("account", "show", name)
    assert "queues_max=3" in shown
    assert key["key_id"] in shown
    assert key["secret"] not in shown


def test_export_lines_make_a_shell_speak_for_the_account(shell: Shell, name: str) -> None:
    out, _ = shell.run("account", "add", name, "--role", "operator", "--env")
    exports = dict(line.removeprefix("export ").split("=", 1) for line in out.splitlines()[:-1])
    assert out.splitlines()[-1].startswith("unset ")
    shell.be({**shell.server.env, **exports})
    shell.run("queue", "create", "mine")
    shell.run("send", "mine", "hello")
    assert "hello" in shell.run("peek", "mine")[0]
    assert "mine" in shell.run("queue", "list")[0]
    assert "AccessDenied" in shell.run("account", "list", code=1)[1]


def test_secret_is_written_to_a_private_new_file(shell: Shell, name: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    out, _ = shell.run("account", "add", name, "--json", "--output", file)
    made = json.loads(file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert made["key_id"] in out
    assert made["secret"] not in out
    _, err = shell.run("account", "key", name, "--output", file, code=2)
    assert "exists" in err
    assert len(shell.json("account", "show", name)["credentials"]) == 1


def test_refused_account_leaves_no_file(shell: Shell, made: Any, name: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    assert "AccountExists" in shell.run("account", "add", name, "--output", file, code=1)[1]
    assert not file.exists()


def test_key_with_an_end_is_added(shell: Shell, made: Any, name: str) -> None:
    second = shell.json("account", "key", name, "--expires", "90d")
    assert second["expires_ms"] - second["created_ms"] == 90 * 24 * 3_600_000
    shown, _ = shell.run("account", "show", name)
    assert shown.count("AKIA") == 2


def test_rotated_key_goes_on_for_its_grace(
    shell: Shell, server: LocalServer, made: Any, name: str
) -> None:
    new = shell.json("account", "rotate", name, "--grace", "1h")
    assert works(server, made)
    assert works(server, new)
    newest = shell.json("account", "rotate", name, new["key_id"], "--grace", "0s")
    assert not works(server, new)
    assert works(server, newest)


def test_key_to_rotate_must_be_named_among_several(shell: Shell, made: Any, name: str) -> None:
    second = shell.json("account", "key", name)
    _, err = shell.run("account", "rotate", name, code=2)
    assert made["key_id"] in err
    assert second["key_id"] in err


def test_disabled_key_and_account_stop_at_once(
    shell: Shell, server: LocalServer, made: Any, name: str
) -> None:
    for args in ([name, made["key_id"]], [name]):
        assert "disabled" in shell.run("account", "disable", *args)[0]
        assert not works(server, made)
        assert "enabled" in shell.run("account", "enable", *args)[0]
        assert works(server, made)


def test_removed_key_and_account_are_gone(
    shell: Shell, server: LocalServer, made: Any, name: str
) -> None:
    sqs(server, made).create_queue(QueueName="q")
    shell.run("account", "remove", name, made["key_id"])
    assert not works(server, made)
    assert "owns queues" in shell.run("account", "remove", name, code=1)[1]
    second = shell.json("account", "key", name)
    client = sqs(server, second)
    client.delete_queue(QueueUrl=client.get_queue_url(QueueName="q")["QueueUrl"])
    assert made["account"] in shell.run("account", "remove", name)[0]
    assert "AccountMissing" in shell.run("account", "show", name, code=1)[1]


def test_role_and_quotas_are_changed_and_taken_away(shell: Shell, made: Any, name: str) -> None:
    shell.run("account", "set", name, "--role", "viewer", "--bytes-max", "1000")
    shell.run("account", "set", name, "--requests-per-second", "7")
    account = shell.json("account", "show", name)
    assert account["role"] == "viewer"
    assert account["quotas"] == {
        "queues_max": None,
        "bytes_max": 1000,
        "requests_per_second_max": 7,
    }
    shell.run("account", "set", name, "--role", "none", "--bytes-max", "none")
    renamed = f"{name}.x"
    shell.run("account", "set", made["account"], "--name", renamed)
    account = shell.json("account", "show", renamed)
    assert (account["role"], account["quotas"]["bytes_max"]) == (None, None)
    assert account["quotas"]["requests_per_second_max"] == 7
    assert "give --name" in shell.run("account", "set", renamed, code=2)[1]


def test_accounts_are_listed(shell: Shell, made: Any, name: str) -> None:
    out, _ = shell.run("account", "list")
    assert out.splitlines()[0].split() == ["NUMBER", "NAME", "ROLE", "STATE", "KEYS", "QUOTAS"]
    assert [made["account"], name, "-", "enabled", "1", "none"] in [
        line.split() for line in out.splitlines()
    ]
    assert made["secret"] not in json.dumps(shell.json("account", "list"))


def test_password_is_read_from_standard_input(
    shell: Shell, made: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    out, _ = shell.run("account", "password", name)
    assert PASSWORD not in out
    assert shell.json("account", "show", name)["has_password"]
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "no password" in shell.run("account", "password", name, code=2)[1]
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    assert "InvalidValue" in shell.run("account", "password", name, code=1)[1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_password_is_typed_twice_on_a_terminal(
    shell: Shell, made: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    typed = [PASSWORD, PASSWORD, PASSWORD, "another one"]
    monkeypatch.setattr("getpass.getpass", lambda prompt: typed.pop(0))
    shell.run("account", "password", name)
    assert "differ" in shell.run("account", "password", name, code=2)[1]


def test_profile_gives_the_key(
    shell: Shell, made: Any, name: str, tmp_path: Path, server: LocalServer
) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        f"[{name}]\naws_access_key_id = {made['key_id']}\n"
        f"aws_secret_access_key = {made['secret']}\n"
    )
    shell.be({**server.env, "AWS_SHARED_CREDENTIALS_FILE": str(file)})
    out, _ = shell.run("queue", "create", "by-profile", "--profile", name)
    assert f"/{made['account']}/by-profile" in out


def test_changes_are_listed_with_who_made_them(
    shell: Shell, server: LocalServer, made: Any, name: str
) -> None:
    sequence = shell.json("audit", "--last", "1")["entries"][0]["sequence"]
    shell.be_key(made)
    shell.run("queue", "create", "audited")
    assert "AccessDenied" in shell.run("audit", code=1)[1]
    shell.run("account", "list", code=1)
    shell.be(server.env)
    shell.run("account", "disable", name)
    entries = shell.json("audit", "--after", str(sequence))["entries"]
    reported = [
        (each["account"], each["key_id"], each["action"], each["target"]) for each in entries
    ]
    root = server.access_key
    assert reported == [
        (made["account"], made["key_id"], "CreateQueue", f"{made['account']}/audited"),
        (root.account, root.key_id, "change account", made["account"]),
    ]
    out, _ = shell.run("audit", "--last", "2")
    assert out.splitlines()[0].split()[:3] == ["SEQUENCE", "TIME", "ACCOUNT"]
    assert f"{made['account']}/audited" in out.splitlines()[1]
    assert "--after" in shell.run("audit", "--last", "1001", code=2)[1]


def test_no_secret_is_in_the_audit_log_or_the_log(
    shell: Shell, server: LocalServer, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    shell.run("account", "password", made["account"])
    written = (server.data / "audit.jsonl").read_text()
    assert made["key_id"] in written
    for text in (written, server.log.read_text()):
        assert not [
            each for each in (made["secret"], PASSWORD, server.access_key.secret) if each in text
        ]


def test_queues_declared_at_the_start_are_in_the_audit_log(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "queues.toml"
    file.write_text("[queues.declared]\n[queues.also]\n")
    args = ["--store", "memory://", "--queues", str(file)]
    with LocalServer(tmp_path / "data", args=args) as server:
        shell.be(server.env)
        (entry,) = shell.json("audit")["entries"]
        assert (entry["action"], entry["target"]) == ("declare queues", str(file))
        assert sorted(entry["details"]["created"]) == ["also", "declared"]
        assert not (server.data / "audit.jsonl").exists()


def test_doctor_finds_nothing_wrong_with_an_account_without_a_role(shell: Shell, made: Any) -> None:
    shell.be_key(made)
    checks = {check["name"].split()[0]: check for check in shell.json("doctor")["checks"]}
    assert {check["state"] for check in checks.values()} <= {"ok", "absent"}
    assert "needs the role viewer" in checks["admin"]["found"]


def test_wrong_key_is_explained_by_admin_commands_too(shell: Shell, made: Any) -> None:
    shell.be_key({**made, "secret": "wrong"})
    assert "check the access key" in shell.run("account", "list", code=1)[1]


def test_queues_of_several_accounts_are_distinguished(
    shell: Shell, server: LocalServer, made: Any
) -> None:
    queue = f"q-{uuid.uuid4()}"
    sqs(server, made).create_queue(QueueName=queue)
    shell.run("queue", "create", queue)
    lines = shell.run("queue", "list", "--prefix", queue)[0].splitlines()[1:]
    assert [line.split()[0] for line in lines] == [
        f"{account}/{queue}" for account in sorted((server.access_key.account, made["account"]))
    ]


def test_answer_whether_an_account_may_is_explained(shell: Shell, made: Any, name: str) -> None:
    queue = f"q-{uuid.uuid4()}"
    shell.run("queue", "create", queue)
    place = f"{shell.server.access_key.account}/{queue}"
    reported = shell.json("account", "may", name, "SendMessage", place, code=1)
    assert (reported["allowed"], reported["steps"]) == (
        False,
        ["SendMessage: the queue has no policy"],
    )
    assert shell.run("account", "may", "root", "SendMessage", place)[0].startswith("allowed: ")
    client = boto3.client("sqs", **shell.server.boto3_kwargs)
    url = client.get_queue_url(QueueName=queue)["QueueUrl"]
    client.add_permission(
        QueueUrl=url, Label="lent", AWSAccountIds=[made["account"]], Actions=["SendMessage"]
    )
    out, _ = shell.run("account", "may", name, "SendMessage", place)
    assert "by statement lent" in out
    assert sqs(shell.server, made).send_message(QueueUrl=url, MessageBody="x")["MessageId"]


def test_denied_change_of_anothers_queue_is_in_the_audit_log(shell: Shell, made: Any) -> None:
    queue = f"q-{uuid.uuid4()}"
    url = shell.run("queue", "create", queue)[0].strip()
    with pytest.raises(botocore.exceptions.ClientError, match="AccessDenied"):
        sqs(shell.server, made).delete_queue(QueueUrl=url)
    (entry,) = shell.json("audit", "--last", "1")["entries"]
    assert (entry["action"], entry["outcome"]) == ("DeleteQueue", "AccessDenied")
    assert (entry["account"], entry["key_id"]) == (made["account"], made["key_id"])
    assert entry["target"] == f"{shell.server.access_key.account}/{queue}"


@pytest.mark.parametrize("text", ["90", "d", "1.5h", "-1h", "1w", "", "٣d"])
def test_time_that_is_none_is_wrong_use(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["account", "key", "x", "--expires", text])
    assert caught.value.code == 2
    assert "--expires" in capsys.readouterr().err
