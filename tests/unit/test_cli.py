"""Commands against a real server: what they print and how they end."""

import io
import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from dovemq.cli import main
from dovemq.testing.local_server import LocalServer

Command = Callable[..., str]


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
    assert dovemq("queue", "purge", queue, "--yes") == f"{queue} purged\n"
    assert as_json(dovemq("peek", queue, "--json"))["messages"] == []
    dovemq("queue", "delete", queue, "--yes")
    refused = dovemq("queue", "show", queue, code=1)
    assert refused.startswith(f"dovemq: queue {queue}: AWS.SimpleQueueService.NonExistentQueue")
    assert "dovemq queue list" in refused


class Typed(io.StringIO):
    """Standard input as a terminal with this text typed into it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("yes\n", 0), ("\n", 1), ("n\n", 1)])
@pytest.mark.parametrize("action", ["purge", "delete"])
def test_purge_and_delete_ask_on_a_terminal(
    dovemq: Command,
    queue: str,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    answer: str,
    code: int,
) -> None:
    dovemq("send", queue, "hello")
    monkeypatch.setattr("sys.stdin", Typed(answer))
    printed = dovemq("queue", action, queue, code=code)
    if code:
        assert "[y/N]" in printed
        assert "nothing was deleted" in printed
        assert "hello" in dovemq("peek", queue)


@pytest.mark.parametrize("action", ["purge", "delete"])
def test_purge_and_delete_need_yes_where_there_is_no_terminal(
    dovemq: Command, queue: str, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert "give --yes" in dovemq("queue", action, queue, code=2)
    dovemq("queue", "show", queue)


def received(dovemq: Command, queue: str, *options: str) -> list[str]:
    """The receipts of all visible messages."""
    out = dovemq("receive", queue, "--max", "10", "--json", *options)
    return [message["ReceiptHandle"] for message in as_json(out)["Messages"]]


def test_received_messages_are_deleted_by_their_receipts(dovemq: Command, queue: str) -> None:
    dovemq("send", queue, "one")
    dovemq("send", queue, "two")
    receipts = received(dovemq, queue)
    assert dovemq("delete", queue, *receipts) == "2 deleted\n"
    assert as_json(dovemq("peek", queue, "--json"))["messages"] == []


def test_released_message_is_visible_at_once(dovemq: Command, queue: str) -> None:
    dovemq("send", queue, "hello")
    (receipt,) = received(dovemq, queue, "--lease", "600")
    assert received(dovemq, queue) == []
    assert dovemq("release", queue, receipt) == "1 released\n"
    assert len(received(dovemq, queue)) == 1


def test_lease_is_extended_by_its_receipt(dovemq: Command, queue: str) -> None:
    dovemq("send", queue, "hello")
    (receipt,) = received(dovemq, queue, "--lease", "60")
    (before,) = as_json(dovemq("peek", queue, "--json"))["messages"]
    assert as_json(dovemq("extend", queue, receipt, "--lease", "900", "--json")) == {
        "extended": 1,
        "failed": [],
    }
    (after,) = as_json(dovemq("peek", queue, "--json"))["messages"]
    assert after["visible_ms"] > before["visible_ms"]


def test_receipt_that_is_none_is_reported(dovemq: Command, queue: str) -> None:
    for command in (("delete",), ("release",), ("extend", "--lease", "5")):
        assert "receipt" in dovemq(*command, queue, "nonsense", code=1).lower()


def test_queue_is_shown_by_name_by_account_and_by_url(
    dovemq: Command, queue: str, server: LocalServer
) -> None:
    url = f"{server.endpoint_url}/000000000000/{queue}"
    for form in (queue, f"000000000000/{queue}", url):
        assert as_json(dovemq("queue", "show", form, "--json"))["QueueUrl"] == url
        assert "visible" in dovemq("queue", "list", "--prefix", queue).lower()
        dovemq("peek", form)


def test_times_are_dates_for_people_and_numbers_in_json(dovemq: Command, queue: str) -> None:
    dovemq("send", queue, "hello")
    date = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"
    assert re.search(rf"CreatedTimestamp +{date}", dovemq("queue", "show", queue))
    assert re.search(rf"SentTimestamp {date}", dovemq("receive", queue, "--lease", "0"))
    (message,) = as_json(dovemq("receive", queue, "--json"))["Messages"]
    assert message["Attributes"]["SentTimestamp"].isdecimal()


def test_empty_receive_says_so_on_standard_error(
    dovemq: Command, queue: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["receive", queue]) == 0
    printed = capsys.readouterr()
    assert (printed.out, "no message is visible" in printed.err) == ("", True)


def test_send_says_that_it_reads_a_terminal(
    dovemq: Command, queue: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Typed("hello"))
    assert main(["send", queue]) == 0
    assert "reading the message from standard input" in capsys.readouterr().err


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


def test_move_to_a_missing_queue_names_both_queues(dovemq: Command, queue: str) -> None:
    refused = dovemq("queue", "move", queue, "--to", "nowhere", code=1)
    assert refused.startswith(f"dovemq: queue {queue} or nowhere: AWS.")


def test_unknown_move_cannot_be_cancelled(dovemq: Command) -> None:
    assert "TaskHandle" in dovemq("queue", "cancel-move", "x", code=1)


def test_contradictory_use_ends_with_two(dovemq: Command, queue: str) -> None:
    assert "--lines" in dovemq("send", queue, "body", "--lines", code=2)
    assert "--remove" in dovemq("queue", "tag", queue, code=2)


def test_input_that_is_not_utf8_is_wrong_use(
    dovemq: Command, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for args in ([], ["--lines"]):
        stream = io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8")
        monkeypatch.setattr("sys.stdin", stream)
        assert "the input is not utf-8 text" in dovemq("send", queue, *args, code=2)
    assert "the input is not utf-8 text" in dovemq("send", queue, "\udcff", code=2)


def test_lines_cannot_share_a_deduplication_id(dovemq: Command) -> None:
    err = dovemq("send", "q.fifo", "--lines", "--deduplication-id", "a", code=2)
    assert "--deduplication-id" in err
