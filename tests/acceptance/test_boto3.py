"""boto3 against a real server: what its users do, in its own words."""

import json
import threading
import urllib.request
from typing import Any

import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.acceptance.conftest import NewQueue, See
from tests.acceptance.deployments import FRONT_ENDS, Deployment, Shape, on_deployments

pytestmark = on_deployments(Shape("redis", FRONT_ENDS), partitions=("1", "4", "auto"))

BATCH = 10
CONTENTS = [f"body {number} — ünïcödé" for number in range(BATCH)]


def arn_of(sqs: Any, url: str) -> str:
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    arn: str = answer["Attributes"]["QueueArn"]
    return arn


def counts(sqs: Any, url: str) -> tuple[int, ...]:
    """Visible, leased, delayed."""
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    name = "ApproximateNumberOfMessages"
    return tuple(int(found[name + end]) for end in ("", "NotVisible", "Delayed"))


def receive(sqs: Any, url: str, **options: Any) -> list[dict[str, Any]]:
    options.setdefault("MaxNumberOfMessages", BATCH)
    found: list[dict[str, Any]] = sqs.receive_message(QueueUrl=url, **options).get("Messages", [])
    return found


def test_message_with_attributes_comes_back_as_it_was_sent(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    attributes = {
        "name": {"DataType": "String", "StringValue": "Grüße"},
        "count": {"DataType": "Number.int", "StringValue": "42"},
        "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
    }
    sent = sqs.send_message(QueueUrl=url, MessageBody="tea", MessageAttributes=attributes)
    [message] = receive(
        sqs, url, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"]
    )
    assert message["Body"] == "tea"
    assert message["MessageId"] == sent["MessageId"]
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"


def test_batch_of_ten_is_sent_received_hidden_and_deleted(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    entries = [{"Id": f"{n}", "MessageBody": body} for n, body in enumerate(CONTENTS)]
    sent = sqs.send_message_batch(QueueUrl=url, Entries=entries)
    assert len(sent["Successful"]) == BATCH
    assert "Failed" not in sent
    messages = receive(sqs, url)
    assert sorted(message["Body"] for message in messages) == sorted(CONTENTS)
    assert counts(sqs, url) == (0, BATCH, 0)
    named = [
        {"Id": f"{n}", "ReceiptHandle": message["ReceiptHandle"]}
        for n, message in enumerate(messages)
    ]
    hidden = [{**entry, "VisibilityTimeout": 0} for entry in named]
    changed = sqs.change_message_visibility_batch(QueueUrl=url, Entries=hidden)
    assert len(changed["Successful"]) == BATCH
    assert counts(sqs, url) == (BATCH, 0, 0)
    assert len(sqs.delete_message_batch(QueueUrl=url, Entries=named)["Successful"]) == BATCH
    assert counts(sqs, url) == (0, 0, 0)


def test_fifo_queue_keeps_order_and_locks_a_group(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(FifoQueue="true", ContentBasedDeduplication="true")
    for body in CONTENTS:
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId="a")
    repeat = sqs.send_message(QueueUrl=url, MessageBody=CONTENTS[0], MessageGroupId="a")
    first = receive(sqs, url, MaxNumberOfMessages=4)
    assert [message["Body"] for message in first] == CONTENTS[:4]
    assert repeat["MessageId"] == first[0]["MessageId"]
    assert receive(sqs, url) == []
    for message in first:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert [message["Body"] for message in receive(sqs, url)] == CONTENTS[4:]


def test_long_poll_ends_when_a_message_arrives(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    found: list[dict[str, Any]] = []
    poll = threading.Thread(target=lambda: found.extend(receive(sqs, url, WaitTimeSeconds=20)))
    poll.start()
    sqs.send_message(QueueUrl=url, MessageBody="awaited")
    poll.join()
    assert [message["Body"] for message in found] == ["awaited"]


def test_delayed_message_is_counted_and_not_received(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    sqs.send_message(QueueUrl=url, MessageBody="late", DelaySeconds=900)
    assert receive(sqs, url) == []
    assert counts(sqs, url) == (0, 0, 1)


def test_long_poll_ends_when_a_delay_ends(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    sqs.send_message(QueueUrl=url, MessageBody="late", DelaySeconds=1)
    assert [message["Body"] for message in receive(sqs, url, WaitTimeSeconds=20)] == ["late"]


def test_presigned_url_of_a_queue_can_be_fetched_by_anyone(
    deployment: Deployment, sqs: Any, new_queue: NewQueue
) -> None:
    url = new_queue()
    key = Credentials(deployment.access_key.key_id, deployment.access_key.secret)
    action = {"Action": "SendMessage", "Version": "2012-11-05", "MessageBody": "presigned"}
    request = AWSRequest("GET", url, params=action)
    SigV4QueryAuth(key, "sqs", deployment.region, expires=60).add_auth(request)
    with urllib.request.urlopen(request.prepare().url) as answer:
        assert b"<MessageId>" in answer.read()
    assert [message["Body"] for message in receive(sqs, url)] == ["presigned"]


def test_dead_letters_move_away_and_come_back(sqs: Any, new_queue: NewQueue) -> None:
    dead_url = new_queue()
    dead_arn = arn_of(sqs, dead_url)
    policy = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 1})
    url = new_queue(RedrivePolicy=policy, VisibilityTimeout="0")
    message_id = sqs.send_message(QueueUrl=url, MessageBody="poison")["MessageId"]
    assert [message["MessageId"] for message in receive(sqs, url)] == [message_id]
    assert receive(sqs, url) == []
    [dead] = receive(sqs, dead_url, VisibilityTimeout=0, MessageSystemAttributeNames=["All"])
    assert dead["MessageId"] == message_id
    assert dead["Attributes"]["DeadLetterQueueSourceArn"] == arn_of(sqs, url)
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead_url)["queueUrls"] == [url]
    sqs.start_message_move_task(SourceArn=dead_arn)
    [back] = receive(sqs, url, WaitTimeSeconds=20)
    assert back["MessageId"] == message_id


def test_errors_are_the_typed_exceptions_of_the_client(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        receive(sqs, url + "-missing")
    with pytest.raises(sqs.exceptions.ReceiptHandleIsInvalid):
        sqs.delete_message(QueueUrl=url, ReceiptHandle="garbage")
    with pytest.raises(sqs.exceptions.EmptyBatchRequest):
        sqs.send_message_batch(QueueUrl=url, Entries=[])
    with pytest.raises(sqs.exceptions.InvalidAttributeName):
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Colour": "blue"})


def test_paginator_walks_all_queues(sqs: Any, new_queue: NewQueue, see: See) -> None:
    made = {new_queue() for _ in range(5)}

    def walked() -> tuple[bool, bool]:
        """Whether all queues were found, and whether one was found twice."""
        pages = sqs.get_paginator("list_queues").paginate(PaginationConfig={"PageSize": 2})
        found = [url for page in pages for url in page.get("QueueUrls", [])]
        return made <= set(found), len(found) > len(set(found))

    see(walked, (True, False))
