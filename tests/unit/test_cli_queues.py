"""`dovemq queue explain` and `show` for queues of several partitions, against a real server."""

import json
import shlex
import uuid
from collections.abc import Callable
from typing import Any

from tests.acceptance.documents import blocks

Command = Callable[..., str]

ATTEMPTS_MAX = 60
"""Looks at a queue until its controller has acted, one after each long poll of a second."""


def explained(dovemq: Command, name: str) -> Any:
    return json.loads(dovemq("queue", "explain", name, "--json"))


def test_queue_that_sizes_itself_is_explained(dovemq: Command) -> None:
    name = f"q-{uuid.uuid4()}"
    dovemq("queue", "create", name, "Partitions=auto", "PartitionsMin=2", "InhibitionSeconds=60")
    dovemq("send", name, "hello")
    empty = f"q-{uuid.uuid4()}"
    dovemq("queue", "create", empty)
    for _ in range(ATTEMPTS_MAX):
        if explained(dovemq, name)["actions"]:
            break
        dovemq("receive", empty, "--wait", "1")
    lines = dovemq("queue", "explain", name).splitlines()
    assert lines[0].startswith("number of partitions 2, from 2 to 16 allowed; ")
    assert lines[1].startswith("no change, by bounds: ")
    assert lines[2].startswith("inhibited for another ")
    assert lines[4].split()[:4] == ["PARTITION", "STATE", "VISIBLE", "HIDDEN"]
    assert [line.split()[:2] for line in lines[5:7]] == [["0", "active"], ["1", "active"]]
    assert "add partition 1" in lines[-1]
    assert lines[-1].endswith("bounds  the number of partitions, 1, is below 2")


def test_present_number_of_a_queue_that_sizes_itself_is_shown(dovemq: Command) -> None:
    name = f"q-{uuid.uuid4()}"
    dovemq("queue", "create", name, "Partitions=auto")
    shown = dovemq("queue", "show", name)
    assert any(
        line.split(maxsplit=1) == ["Partitions", "auto (1 at present)"]
        for line in shown.splitlines()
    )
    assert "active 0, marked none, draining none" in shown
    assert json.loads(dovemq("queue", "show", name, "--json"))["Attributes"]["Partitions"] == "auto"


def test_queue_with_a_fixed_number_is_explained(dovemq: Command) -> None:
    name = f"q-{uuid.uuid4()}"
    dovemq("queue", "create", name, "Partitions=2")
    lines = dovemq("queue", "explain", name).splitlines()
    assert lines[0] == "number of partitions 2: the number is fixed by its owner"
    assert lines[2].split() == ["PARTITION", "STATE", "VISIBLE", "HIDDEN"]
    assert len(lines) == 5


def test_commands_of_the_how_to_work_as_written(dovemq: Command) -> None:
    scripts = [text for _, text in blocks("docs/how-to/size-a-queue.md")]
    lines = [line for text in scripts for line in text.splitlines()]
    assert len(lines) == 6
    for line in lines:
        assert dovemq(*shlex.split(line)[1:])
    assert (
        json.loads(dovemq("queue", "show", "clicks", "--json"))["Attributes"]["Partitions"]
        == "auto"
    )
