"""The log: one line for each event, as text or JSON, without data of clients."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from dovemq.core.errors import InvariantError, StoreFull
from dovemq.telemetry.logs import Format, log_failure, log_request, set_up_logs
from tests.wire.speaking import JSON, PROTOCOLS, request_of
from tests.wire.world import ACCOUNT, World

log = logging.getLogger("dovemq.test")


class Output:
    def __init__(self) -> None:
        self.stream = io.StringIO()

    def begin(self, form: Format) -> None:
        set_up_logs("info", form, self.stream)

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()

    @property
    def line(self) -> dict[str, Any]:
        [text] = self.lines
        document: dict[str, Any] = json.loads(text)
        return document


@pytest.fixture
def output() -> Iterator[Output]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers = []
    yield Output()
    root.handlers, root.level = before, level


def failed(message: str) -> Exception:
    try:
        raise ValueError(message)
    except ValueError as error:
        return error


def test_line_of_json_has_time_account_and_operation(output: Output) -> None:
    output.begin("json")
    log.warning("two\nlines of %s", "text")
    line = output.line
    assert line["ts"].endswith("+00:00")
    del line["ts"]
    assert line == {"level": "warning", "logger": "dovemq.test", "message": "two\nlines of text"}


def test_failure_has_its_kind_and_place_as_fields(output: Output) -> None:
    output.begin("json")
    log_failure(log, "request 7 failed", failed("a private word"), "7")
    line = output.line
    assert (line["request_id"], line["error"]) == ("7", "ValueError")
    assert "in failed" in line["stack"]
    assert "private" not in output.lines[0]


def test_failure_in_text_ends_with_its_place(output: Output) -> None:
    output.begin("text")
    log_failure(log, "request 7 failed", failed("a private word"), "7")
    assert output.lines[0].endswith("dovemq.test: request 7 failed: ValueError")
    assert "in failed" in output.lines[1]
    assert "private" not in output.stream.getvalue()


def test_exception_that_is_logged_as_such_tells_no_foreign_text(output: Output) -> None:
    output.begin("json")
    for error in (KeyError("a private word"), StoreFull(), InvariantError("ours")):
        log.error("it failed", exc_info=error)
    foreign, own, bug = (json.loads(line) for line in output.lines)
    assert foreign["error"] == "KeyError"
    assert own["error"].startswith("StoreFull: ")
    assert bug["error"] == "InvariantError: ours"


def test_line_of_a_request_stays_one_line(output: Output) -> None:
    output.begin("text")
    log_request(
        "id", "SendMessage", account=None, queue="0/a\nb" + "x" * 999, status=400, ms=1, peer="p"
    )
    [line] = output.lines
    assert r"queue='0/a\nb" in line
    assert len(line) < 300


async def _send(world: World, protocol: str) -> None:
    queue = await world.queue()
    params = {"QueueUrl": queue, "MessageBody": "a private word"}
    await world.call(protocol, "SendMessage", params)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_requests_are_logged_when_asked_for(output: Output, protocol: str) -> None:
    output.begin("json")
    asyncio.run(_send(World(log_requests=True), protocol))
    created, sent = (json.loads(line) for line in output.lines)
    assert (created["operation"], sent["operation"]) == ("CreateQueue", "SendMessage")
    assert sent["account"] == ACCOUNT
    assert sent["queue"] == f"{ACCOUNT}/orders"
    assert (sent["status"], sent["peer"]) == (200, "127.0.0.1:5000")
    assert sent["ms"] >= 0
    assert "private" not in output.stream.getvalue()


def test_requests_are_not_logged_by_default(output: Output) -> None:
    output.begin("json")
    asyncio.run(_send(World(), JSON))
    assert output.lines == []


async def test_refused_request_is_logged_without_what_it_carried(output: Output) -> None:

    output.begin("json")
    world = World(signed=True, log_requests=True)
    request = request_of(JSON, "SendMessage", {"MessageBody": "a private word"})
    request.headers["authorization"] = "AWS4-HMAC-SHA256 Credential=a/private/word"
    await world.endpoint.handle(request)
    line = output.line
    assert (line["operation"], line["status"]) == ("(none)", 400)
    assert "account" not in line
    assert "private" not in output.lines[0]
