"""`dovemq import`, `serve --queues`, `move` and `copy`: what they print and how they end."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dovemq.cli import main
from dovemq.client import BlockingSqsClient
from dovemq.sqs.shapes import SendMessageRequest
from dovemq.testing.local_server import LocalServer, StartFailed

CONF = """
queues {
  jobs { defaultVisibilityTimeout = 90 seconds
         deadLettersQueue { name = jobs-dead, maxReceiveCount = 3 } }
  jobs-dead { tags { team = a } }
  orders { fifo = true, copyTo = audit }
}
"""
TOML = """
[queues.jobs]
VisibilityTimeout = 60
dead_letters = { queue = "jobs-dead", maxReceiveCount = 3 }
[queues.jobs-dead]
tags = { team = "a" }
"""
END_SECONDS_MAX = 30

Command = Callable[..., tuple[str, str]]


@pytest.fixture
def command(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    kept = {key: text for key, text in os.environ.items() if key[:4] not in ("AWS_", "DOVE")}
    monkeypatch.setattr(os, "environ", {**kept, **server.env})

    def run(*args: str | Path, code: int = 0) -> tuple[str, str]:
        ended = main([str(arg) for arg in args])
        printed = capsys.readouterr()
        assert ended == code, printed.err
        return printed.out, printed.err

    return run


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    file = tmp_path / "elasticmq.conf"
    file.write_text(CONF)
    return file


def shown(command: Command, name: str) -> dict[str, Any]:
    found = json.loads(command("queue", "show", name, "--json")[0])
    assert isinstance(found, dict)
    return found


def test_unsupported_keys_are_reported_and_nothing_is_done(command: Command, conf: Path) -> None:
    out, err = command("import", conf, code=1)
    assert out == ""
    assert f"{conf}: queue orders: copyTo: not supported" in err
    assert "--skip-unsupported" in err
    command("queue", "show", "jobs", code=1)


def test_import_prints_toml_that_can_be_served(command: Command, conf: Path) -> None:
    out, _ = command("import", conf, "--toml", "--skip-unsupported")
    assert list(tomllib.loads(out)["queues"]) == ["jobs", "jobs-dead", "orders.fifo"]
    printed = json.loads(command("import", conf, "--toml", "--skip-unsupported", "--json")[0])
    assert printed == {"toml": out, "unsupported": ["queue orders: copyTo"]}


def test_import_creates_then_changes_then_leaves_alone(command: Command, conf: Path) -> None:
    args = ("import", conf, "--skip-unsupported", "--json")
    names = ["jobs", "jobs-dead", "orders.fifo"]
    assert json.loads(command(*args)[0])["created"] == names
    assert json.loads(command(*args)[0])["unchanged"] == names
    conf.write_text(CONF.replace("90 seconds", "2 minutes"))
    assert json.loads(command(*args)[0])["changed"] == ["jobs"]
    jobs = shown(command, "jobs")["Attributes"]
    assert jobs["VisibilityTimeout"] == "120"
    assert json.loads(jobs["RedrivePolicy"])["maxReceiveCount"] == 3
    assert shown(command, "jobs-dead")["Tags"] == {"team": "a"}
    assert "3 queues unchanged" in command("import", conf, "--skip-unsupported")[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("queues {", "line 1: } is missing"),
        ("queues { a { delay = 901 seconds } }", "queue a: InvalidAttributeValue"),
    ],
)
def test_import_refuses_what_it_cannot_do(
    command: Command, conf: Path, text: str, expected: str
) -> None:
    conf.write_text(text)
    _, err = command("import", conf, code=2)
    assert f"dovemq: {conf}: {expected}" in err


def queues_of(server: LocalServer) -> dict[str, str]:
    with BlockingSqsClient(server.endpoint_url, server.access_key) as client:
        return {
            url.rpartition("/")[2]: client.attributes(url)["VisibilityTimeout"]
            for url in client.queue_urls()
        }


def test_declared_queues_are_there_when_the_server_is_announced(tmp_path: Path) -> None:
    file = tmp_path / "queues.toml"
    file.write_text(TOML)
    server = LocalServer(tmp_path / "data", args=["--queues", str(file)])
    with server:
        assert queues_of(server) == {"jobs": "60", "jobs-dead": "30"}
    file.write_text("[queues.jobs]\nVisibilityTimeout = 61\n[queues.new]")
    with server:
        assert queues_of(server) == {"jobs": "61", "jobs-dead": "30", "new": "30"}
    assert "1 queues created, 1 changed, 0 unchanged" in server.log_tail()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[queues.jobs]\nDelaySeconds = 901", "queue jobs: Invalid value for the parameter Delay"),
        ("[queues.jobs]\nNothing = 1", "queue jobs: Nothing: no such attribute"),
        ("[queues", "not TOML"),
    ],
)
def test_server_does_not_start_on_a_wrong_file(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "queues.toml"
    file.write_text(text)
    server = LocalServer(tmp_path / "data", args=["--queues", str(file)])
    with pytest.raises(StartFailed) as caught:
        server.start()
    assert f"dovemq: {file}: " in str(caught.value)
    assert expected in str(caught.value)


def moved(
    server: LocalServer, *args: str, code: int = 0, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs in a process of its own, since the command handles the signals."""
    done = subprocess.run(
        [sys.executable, "-m", "dovemq", "move", *args],
        env={**os.environ, **server.env, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=END_SECONDS_MAX,
    )
    assert done.returncode == code, done.stderr
    return done


def test_move_reports_how_many_messages_it_moved(command: Command, server: LocalServer) -> None:
    command("queue", "create", "here")
    command("queue", "create", "there")
    command("send", "here", "hello")
    url = f"{server.endpoint_url}/000000000000/there"
    assert json.loads(moved(server, "here", url, "--json").stdout) == {
        "moved": 1,
        "refused": 0,
        "undeleted": 0,
        "remaining": 0,
        "stopped": False,
    }
    assert "hello" in command("receive", "there")[0]


def test_move_names_the_side_that_fails(command: Command, server: LocalServer) -> None:
    command("queue", "create", "side")
    assert "dovemq: target nowhere: AWS." in moved(server, "side", "nowhere", code=1).stderr
    assert "dovemq: source nowhere: AWS." in moved(server, "nowhere", "side", code=1).stderr
    closed = ("side", "side", "--to-endpoint-url", "http://127.0.0.1:1")
    assert "dovemq: target side: http://127.0.0.1:1" in moved(server, *closed, code=1).stderr


def test_move_refuses_one_queue_and_too_many_workers(server: LocalServer, command: Command) -> None:
    command("queue", "create", "same")
    assert "the same queue" in moved(server, "same", "same", code=2).stderr
    assert "at most 32" in command("move", "same", "other", "--workers", "33", code=2)[1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "name the queues SOURCE and TARGET, or give --all"),
        (("one",), "name the queues SOURCE and TARGET, or give --all"),
        (("--all", "one"), "leave SOURCE and TARGET out"),
        (("--all", "one", "two"), "leave SOURCE and TARGET out"),
        (("--all",), "source and target are the same server"),
    ],
)
def test_move_says_which_queues_it_needs(
    server: LocalServer, words: Sequence[str], expected: str
) -> None:
    assert expected in moved(server, *words, code=2).stderr


def test_move_of_all_queues_prints_a_row_for_each_and_the_sums(
    server: LocalServer, command: Command, tmp_path: Path
) -> None:
    with LocalServer(tmp_path / "other", args=["--store", "memory://"]) as other:
        with BlockingSqsClient(other.endpoint_url, other.access_key) as client:
            client.create_queue("letters", {"DelaySeconds": "5"}, {})
            client.create_queue("parcels", {"DeliveryPaused": "true"}, {})
            for name in ("letters", "parcels"):
                client.send(name, SendMessageRequest(message_body="hello", delay_seconds=0))
        command("queue", "create", "letters")
        done = moved(server, "--all", "--from-data", str(other.data), code=1)
    *rows, _, sums = done.stdout.splitlines()
    assert [row.split() for row in rows] == [
        ["QUEUE", "AT", "THE", "TARGET", "MOVED", "REFUSED", "REMAIN"],
        ["letters", "existed", "1", "0", "0"],
        ["parcels", "created", "0", "0", "1"],
    ]
    assert sums == "2 queues, 1 of them created; 1 messages moved, 1 remain at the source"
    assert [line for line in done.stderr.splitlines() if line.startswith("dovemq: ")] == [
        "dovemq: letters was at the target already and was not changed: DelaySeconds is 5 at the "
        "source and 0 at the target",
        "dovemq: parcels: its delivery is paused at the source, so its messages stay; resume it "
        "by: dovemq queue set parcels DeliveryPaused=false",
    ]


def test_move_takes_keys_and_region_of_a_profile(server: LocalServer, tmp_path: Path) -> None:
    key = server.access_key
    file = tmp_path / "credentials"
    file.write_text(
        f"[old]\naws_access_key_id = {key.key_id}\naws_secret_access_key = {key.secret}\n"
    )
    variables = {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_SECRET_ACCESS_KEY": "wrong"}
    with BlockingSqsClient(server.endpoint_url, key) as client:
        urls = [client.create_queue(name, {}, {}) for name in ("profiled", "goal")]
    profiles = ("--from-profile", "old", "--to-profile", "old")
    assert "source" in moved(server, *urls, code=1, variables=variables).stderr
    assert "0 moved" in moved(server, *urls, *profiles, variables=variables).stdout


def test_copy_leaves_the_source_as_it_is(command: Command) -> None:
    command("queue", "create", "original")
    command("queue", "create", "duplicate")
    for body in ("one", "two", "three"):
        command("send", "original", body, "--attribute", f"name={body}")
    command("receive", "original", "--lease", "60")
    before = json.loads(command("peek", "original", "--json")[0])
    printed, _ = command("copy", "original", "000000000000/duplicate", "--json")
    assert json.loads(printed) == {"copied": 3, "refused": 0, "left": 0, "stopped": False}
    assert json.loads(command("peek", "original", "--json")[0]) == before
    found = json.loads(command("peek", "duplicate", "--json")[0])["messages"]
    assert [each["body"] for each in found] == ["one", "two", "three"]
    assert [each["attributes"]["name"]["value"] for each in found] == ["one", "two", "three"]


def test_copy_ends_at_its_limit_and_counts_what_it_left_out(command: Command) -> None:
    command("queue", "create", "long")
    command("queue", "create", "short")
    for body in ("one", "two", "three"):
        command("send", "long", body)
    assert (
        "2 copied, 0 refused by the target, 1 left out"
        in command("copy", "long", "short", "--max", "2", code=1)[0]
    )


def test_copy_refuses_one_queue(command: Command) -> None:
    command("queue", "create", "single")
    assert "the same queue" in command("copy", "single", "000000000000/single", code=2)[1]
