"""The file of declared queues: reading, errors and writing."""

import tomllib

import pytest

from dovemq.settings import DeclarationInvalid
from dovemq.sqs.declared import (
    DeadLetters,
    DeclaredQueue,
    read_declared,
    same_value,
    write_declared,
)

FULL = """
[queues.jobs]
VisibilityTimeout = 60
LongDelay = true
OrderHint = "any"
RedriveAllowPolicy = { redrivePermission = "denyAll" }
dead_letters = { queue = "jobs-dead", maxReceiveCount = 3 }

[queues.jobs.tags]
team = "billing"

[queues.jobs-dead]

[queues."orders.fifo"]
ContentBasedDeduplication = true
"""


def read(text: str) -> list[DeclaredQueue]:
    return read_declared(tomllib.loads(text), "queues.toml")


def refusal(text: str) -> str:
    with pytest.raises(DeclarationInvalid) as caught:
        read(text)
    return str(caught.value)


def test_queues_are_read_with_values_as_the_wire_has_them() -> None:
    jobs, dead, orders = read(FULL)
    assert jobs == DeclaredQueue(
        "jobs",
        {
            "VisibilityTimeout": "60",
            "LongDelay": "true",
            "OrderHint": "any",
            "RedriveAllowPolicy": '{"redrivePermission":"denyAll"}',
        },
        {"team": "billing"},
        DeadLetters("jobs-dead", 3),
    )
    assert dead == DeclaredQueue("jobs-dead")
    assert orders.attributes == {"ContentBasedDeduplication": "true", "FifoQueue": "true"}


def test_file_without_queues_declares_none() -> None:
    assert read("") == []


def test_written_file_is_read_as_the_same_queues() -> None:
    queues = [
        *read(FULL),
        DeclaredQueue("odd", {"Policy": 'a "b"\n\x7f\\'}, {"a key": "ü", "": "x=y"}),
    ]
    assert read(write_declared(queues)) == queues


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[queue.jobs]", "queues.toml: queue: not known here"),
        ("queues = 3", "queues.toml: queues: not a table"),
        ("[queues]\njobs = 3", "queues.toml: queue jobs: not a table"),
        (
            "[queues.jobs]\nVisibiltyTimeout = 3",
            "queues.toml: queue jobs: VisibiltyTimeout: no such attribute; "
            "did you mean VisibilityTimeout?",
        ),
        ("[queues.jobs]\nDelaySeconds = 1.5", "queue jobs: DelaySeconds: 1.5 is no value"),
        ("[queues.jobs]\nDelaySeconds = {a = 1}", "queue jobs: DelaySeconds"),
        ("[queues.jobs]\ntags = {a = 1}", "queue jobs: tags: Expected `str`"),
        ("[queues.jobs]\ndead_letters = {queue = 'a'}", "queue jobs: dead_letters: Object missing"),
        (
            "[queues.jobs]\nRedrivePolicy = '{}'\n"
            "dead_letters = {queue = 'a', maxReceiveCount = 1}",
            "queue jobs: dead_letters: stands beside RedrivePolicy",
        ),
    ],
)
def test_refusal_names_file_queue_and_attribute(text: str, expected: str) -> None:
    assert expected in refusal(text)


@pytest.mark.parametrize(
    ("name", "one", "other", "same"),
    [
        ("DelaySeconds", "3", "3", True),
        ("DelaySeconds", "3", "4", False),
        ("LongDelay", "True", "true", True),
        ("Policy", '{"a": 1, "b": 2}', '{"b":2,"a":1}', True),
        ("Policy", '{"a": 1}', '{"a": "1"}', False),
        ("Policy", "", '{"a": 1}', False),
        ("Policy", "no JSON", '{"a": 1}', False),
    ],
)
def test_values_are_compared_by_what_they_mean(name: str, one: str, other: str, same: bool) -> None:
    assert same_value(name, one, other) is same
