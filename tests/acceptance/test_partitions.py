"""boto3 on queues of several partitions: one server, and three front ends on Redis."""

import threading
import time
from collections import Counter
from typing import Any

import pytest

from tests.acceptance.conftest import NewQueue, See
from tests.acceptance.deployments import FRONT_ENDS, Shape, on_deployments

pytestmark = on_deployments(Shape("redis", FRONT_ENDS))

MESSAGES = 60
WAIT_SECONDS = 20
GROUPS = 5


def send_all(sqs: Any, url: str, count: int = MESSAGES) -> set[str]:
    ids = set()
    for number in range(count):
        ids.add(sqs.send_message(QueueUrl=url, MessageBody=str(number))["MessageId"])
    return ids


def receive_all(sqs: Any, url: str, count: int) -> Counter[str]:
    """Receives and deletes until so many different messages have come, or long polls find none."""
    found: Counter[str] = Counter()
    while len(found) < count:
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=WAIT_SECONDS
        )
        messages = answer.get("Messages", [])
        if not messages:
            break
        found.update(each["MessageId"] for each in messages)
        entries = [
            {"Id": str(at), "ReceiptHandle": each["ReceiptHandle"]}
            for at, each in enumerate(messages)
        ]
        deleted = sqs.delete_message_batch(QueueUrl=url, Entries=entries)
        assert not deleted.get("Failed")
    return found


def counts(sqs: Any, url: str) -> tuple[int, ...]:
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    name = "ApproximateNumberOfMessages"
    return tuple(int(found[name + end]) for end in ("", "NotVisible", "Delayed"))


@pytest.mark.parametrize("count", ["4", "auto"])
def test_every_message_is_received_once_and_stays_deleted(
    sqs: Any, new_queue: NewQueue, see: See, count: str
) -> None:
    url = new_queue(Partitions=count)
    sent = send_all(sqs, url)
    see(lambda: counts(sqs, url), (MESSAGES, 0, 0))
    assert receive_all(sqs, url, MESSAGES) == Counter(sent)
    see(lambda: counts(sqs, url), (0, 0, 0))


def test_each_strategy_finds_all_messages(sqs: Any, new_queue: NewQueue) -> None:
    for strategy in ("conventional", "pms", "rds"):
        url = new_queue(Partitions="4", DequeueStrategy=strategy, RdsSleepMilliseconds="50")
        sent = send_all(sqs, url, 12)
        assert set(receive_all(sqs, url, 12)) == sent


def test_long_poll_is_woken_by_a_send(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(Partitions="16")
    answers: list[Any] = []

    def poll() -> None:
        answers.append(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=WAIT_SECONDS))

    waiting = threading.Thread(target=poll)
    waiting.start()
    time.sleep(1)
    sqs.send_message(QueueUrl=url, MessageBody="tea")
    waiting.join()
    [answer] = answers
    assert [each["Body"] for each in answer["Messages"]] == ["tea"]


def test_fifo_groups_of_several_partitions_keep_their_order(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(
        Partitions="4",
        FifoQueue="true",
        DeduplicationScope="messageGroup",
        ContentBasedDeduplication="true",
    )
    for number in range(4 * GROUPS):
        sqs.send_message(
            QueueUrl=url, MessageBody=str(number), MessageGroupId=f"group-{number % GROUPS}"
        )
    received: dict[str, list[int]] = {}
    while sum(map(len, received.values())) < 4 * GROUPS:
        answer = sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            WaitTimeSeconds=WAIT_SECONDS,
            MessageSystemAttributeNames=["MessageGroupId"],
        )
        for each in answer["Messages"]:
            group = each["Attributes"]["MessageGroupId"]
            received.setdefault(group, []).append(int(each["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
    assert len(received) == GROUPS
    assert all(numbers == sorted(numbers) for numbers in received.values())


def test_partitions_can_change_while_messages_wait(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    sent = send_all(sqs, url, 20)
    for partitions in ("6", "2", "1"):
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Partitions": partitions})
        sent |= send_all(sqs, url, 20)
    assert set(receive_all(sqs, url, len(sent))) == sent
