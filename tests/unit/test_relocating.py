"""Plans for `dovemq move --all`: what a queue becomes at another server, and in which order."""

import json
from typing import Any

from dovemq.client.relocating import (
    UNFINISHED,
    RelocatedQueue,
    differences,
    first_attributes,
    first_tags,
    in_levels,
    links_at,
    settable,
)

OLD = "arn:aws:sqs:us-east-1:000000000000:"
NEW = "arn:aws:sqs:eu-west-1:111122223333:"
DEFAULTS = {"VisibilityTimeout": "30", "OrderHint": "1", "DeliveryPaused": "false"}


def queue(name: str, prefix: str = OLD, tags: Any = None, **attributes: str) -> RelocatedQueue:
    return RelocatedQueue(name, f"http://host/0/{name}", prefix + name, attributes, tags or {})


def redrive(to: str, receives_max: int = 3) -> str:
    return json.dumps({"deadLetterTargetArn": OLD + to, "maxReceiveCount": receives_max})


def names(levels: list[list[RelocatedQueue]]) -> list[list[str]]:
    return [[each.name for each in level] for level in levels]


def test_only_attributes_that_can_be_set_are_taken() -> None:
    answered = {**DEFAULTS, "QueueArn": OLD + "q", "ApproximateNumberOfMessages": "3", "New": "1"}
    assert settable(answered) == DEFAULTS


def test_new_queue_gets_what_was_set_and_no_default_of_an_extension() -> None:
    plain = queue("q", **DEFAULTS, LongDelay="true", Policy="{}")
    assert first_attributes(plain) == {"VisibilityTimeout": "30", "LongDelay": "true"}
    fifo = queue("q.fifo", FifoQueue="true", OrderHint="1", GroupConcurrency="2")
    assert first_attributes(fifo) == {"FifoQueue": "true", "GroupConcurrency": "2"}


def test_new_queue_is_marked_until_its_links_are_set() -> None:
    assert first_tags(queue("q", tags={"a": "1"})) == {"a": "1"}
    linked = queue("q", tags={"a": "1"}, RedrivePolicy=redrive("dead"))
    assert first_tags(linked) == {"a": "1", UNFINISHED: "true"}
    full = {str(number): "" for number in range(50)}
    assert first_tags(queue("q", tags=full, Policy="{}")) == full


def test_arns_of_the_account_are_translated_wherever_they_are() -> None:
    statement = {
        "Resource": [OLD + "q", OLD + "*", "arn:aws:sqs:us-east-1:999999999999:q"],
        "Condition": {"ArnEquals": {"aws:SourceArn": OLD + "other"}},
        "Principal": {"AWS": "000000000000"},
    }
    allow = {"redrivePermission": "byQueue", "sourceQueueArns": [OLD + "one", OLD + "two"]}
    source = queue(
        "q",
        Policy=json.dumps({"Statement": [statement]}),
        RedrivePolicy=redrive("dead", 5),
        RedriveAllowPolicy=json.dumps(allow),
    )
    found = {name: json.loads(text) for name, text in links_at(source, NEW + "q").items()}
    assert found == {
        "Policy": {
            "Statement": [
                {
                    "Resource": [NEW + "q", NEW + "*", "arn:aws:sqs:us-east-1:999999999999:q"],
                    "Condition": {"ArnEquals": {"aws:SourceArn": NEW + "other"}},
                    "Principal": {"AWS": "000000000000"},
                }
            ]
        },
        "RedrivePolicy": {"deadLetterTargetArn": NEW + "dead", "maxReceiveCount": 5},
        "RedriveAllowPolicy": {
            "redrivePermission": "byQueue",
            "sourceQueueArns": [NEW + "one", NEW + "two"],
        },
    }


def test_policies_are_kept_to_the_letter_where_the_account_stays_the_same() -> None:
    text = '{ "deadLetterTargetArn" : "' + OLD + 'dead", "maxReceiveCount" : "3" }'
    assert links_at(queue("q", RedrivePolicy=text), OLD + "q") == {"RedrivePolicy": text}


def test_queue_that_the_target_has_alike_has_no_differences() -> None:
    source = queue("q", **DEFAULTS, RedrivePolicy=redrive("dead"), tags={"a": "1"})
    policy = json.dumps({"maxReceiveCount": 3, "deadLetterTargetArn": NEW + "dead"})
    target = queue("q", NEW, **DEFAULTS, RedrivePolicy=policy, tags={"a": "1", UNFINISHED: "true"})
    assert differences(source, target) == []


def test_differences_are_told_by_value_or_by_name() -> None:
    source = queue(
        "q", **DEFAULTS, GroupConcurrency="2", RedrivePolicy=redrive("d"), tags={"a": "1"}
    )
    target = queue(
        "q",
        NEW,
        **{**DEFAULTS, "VisibilityTimeout": "60"},
        RedrivePolicy=redrive("e"),
        tags={"b": "2"},
    )
    assert differences(source, target) == [
        "VisibilityTimeout is 30 at the source and 60 at the target",
        "RedrivePolicy is different",
        "GroupConcurrency is 2 at the source and not set at the target",
        "tag a is 1 at the source and not set at the target",
        "tag b is not set at the source and 2 at the target",
    ]


def test_extensions_are_not_missed_at_a_server_that_has_none() -> None:
    source = queue("q", **DEFAULTS)
    assert differences(source, queue("q", NEW, VisibilityTimeout="30")) == []


def test_dead_letter_queue_is_emptied_after_all_its_sources() -> None:
    queues = [
        queue("last"),
        queue("dead", RedrivePolicy=redrive("last")),
        queue("one", RedrivePolicy=redrive("dead")),
        queue("two", RedrivePolicy=redrive("dead")),
        queue("alone"),
    ]
    assert names(in_levels(queues)) == [["one", "two", "alone"], ["dead"], ["last"]]


def test_queues_that_take_each_others_dead_letters_end_the_order() -> None:
    queues = [
        queue("first", RedrivePolicy=redrive("one")),
        queue("one", RedrivePolicy=redrive("two")),
        queue("two", RedrivePolicy=redrive("one")),
        queue("own", RedrivePolicy=redrive("own")),
    ]
    assert names(in_levels(queues)) == [["first", "own"], ["one", "two"]]


def test_dead_letter_queue_of_another_account_does_not_matter() -> None:
    other = json.dumps({"deadLetterTargetArn": NEW + "dead", "maxReceiveCount": 3})
    assert names(in_levels([queue("q", RedrivePolicy=other), queue("dead")])) == [["q", "dead"]]
