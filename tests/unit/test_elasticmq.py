"""`dovemq import` reads queues from the configuration file of ElasticMQ (HOCON)."""

import pytest

from dovemq.cli.elasticmq import Imported, read_elasticmq, seconds
from dovemq.settings import DeclarationInvalid
from dovemq.sqs.declared import DeadLetters, DeclaredQueue

DOCUMENTED = """
include classpath("application.conf")

node-address { protocol = http, host = "*", port = 9324, context-path = "" }
rest-sqs { enabled = true, sqs-limits = strict }

// all keys are optional
queues {
  queue1 {
    defaultVisibilityTimeout = 10 seconds
    delay = 5 seconds
    receiveMessageWait = 0 seconds
    deadLettersQueue {
      name = "queue1-dead-letters"
      maxReceiveCount = 3 // from 1 to 1000
    }
    fifo = false
    contentBasedDeduplication = false
    tags {
      tag1 = "tagged1"
      tag2 = "tagged2"
    }
  }
  queue1-dead-letters { }
}
"""


def read(queues: str) -> Imported:
    return read_elasticmq(f"queues {{ {queues} }}", "e.conf")


def refusal(queues: str) -> str:
    with pytest.raises(DeclarationInvalid) as caught:
        read(queues)
    return str(caught.value)


def test_documented_file_is_read_whole() -> None:
    found = read_elasticmq(DOCUMENTED, "e.conf")
    assert found.unsupported == []
    assert found.queues == [
        DeclaredQueue(
            "queue1",
            {
                "VisibilityTimeout": "10",
                "DelaySeconds": "5",
                "ReceiveMessageWaitTimeSeconds": "0",
            },
            {"tag1": "tagged1", "tag2": "tagged2"},
            DeadLetters("queue1-dead-letters", 3),
        ),
        DeclaredQueue("queue1-dead-letters"),
    ]


def test_fifo_queue_gets_its_suffix_also_where_it_is_a_dead_letter_queue() -> None:
    text = """
    orders { fifo = true, contentBasedDeduplication = yes
             deadLettersQueue { name = dead, maxReceiveCount = 2 } }
    dead { fifo = on }
    "whole.fifo" { fifo = true }
    """
    orders, dead, whole = read(text).queues
    assert orders.name == "orders.fifo"
    assert orders.attributes == {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    assert orders.dead_letters == DeadLetters("dead.fifo", 2)
    assert (dead.name, whole.name) == ("dead.fifo", "whole.fifo")


def test_keys_without_counterpart_are_listed_by_queue() -> None:
    text = """
    a { copyTo = "b", moveTo = "c", created = 1, lastModified = 2 }
    b { deadLettersQueue { name = a, maxReceiveCount = 1, shade = grey } }
    """
    assert read(text).unsupported == [
        "queue a: copyTo",
        "queue a: moveTo",
        "queue b: deadLettersQueue: shade",
    ]


def test_included_files_are_listed_as_unsupported() -> None:
    found = read_elasticmq('include "queues.conf"\ninclude classpath("application")', "e.conf")
    assert found.unsupported == ['include "queues.conf"']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 seconds", 10),
        ("10s", 10),
        ("1 second", 1),
        ("2 minutes", 120),
        ("1m", 60),
        ("0.5 hours", 1800),
        ("1 day", 86400),
        ("3000", 3),  # without a unit: milliseconds
        ("3000 millis", 3),
        ("2000000 us", 2),
        ("4000000000 nanos", 4),
        ("0", 0),
    ],
)
def test_durations_are_read_in_every_unit(text: str, expected: int) -> None:
    assert seconds(text, "here") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", "means 0.01 seconds"),
        ("1500 ms", "means 1.5 seconds"),
        ("-1 s", "means -1 seconds"),
        ("soon", "is not a duration"),
        ("3 weeks", "is not a duration"),
    ],
)
def test_duration_that_is_not_a_whole_number_of_seconds_is_refused(
    text: str, expected: str
) -> None:
    assert f"queue a: delay: {text!r} {expected}" in refusal(f"a {{ delay = {text} }}")


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        ("a = 1", "queue a: not a block"),
        ("a.fifo { }", "queue a: fifo: not true or false; put names with a period"),
        ("a { fifo = maybe }", "queue a: fifo: 'maybe' is not true or false"),
        (
            "a { delay = ${D} }",
            "queue a: delay: ${D}: substitutions are not supported; write the value itself",
        ),
        ("a { delay { } }", "queue a: delay: not a value"),
        ("a { tags = 1 }", "queue a: tags: not a block"),
        ("a { deadLettersQueue { name = b } }", "deadLettersQueue: maxReceiveCount: missing"),
        (
            "a { deadLettersQueue { name = b, maxReceiveCount = many } }",
            "deadLettersQueue: maxReceiveCount: 'many' is not a whole number",
        ),
        ("a {", "line 1: } is missing"),
    ],
)
def test_refusal_names_file_queue_and_key(queues: str, expected: str) -> None:
    text = refusal(queues)
    assert text.startswith("e.conf: ")
    assert expected in text
