"""Every operation of the service model that boto3 ships with is answered with success."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.conftest import NewQueue, See, Soon
from tests.acceptance.deployments import FRONT_ENDS, SHARED, Shape, on_deployments
from tests.acceptance.test_boto3 import arn_of

pytestmark = on_deployments(*(Shape(store, FRONT_ENDS) for store in SHARED))

DEAD_LETTERS = 30


class Session:
    """Calls operations through boto3 and notes which of them were answered."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.answered: set[str] = set()

    def note(self, model: Any, **_: Any) -> None:
        self.answered.add(model.name)


@pytest.fixture
def session(sqs: Any) -> Iterator[Session]:
    session = Session(sqs)
    sqs.meta.events.register("after-call.sqs", session.note)
    yield session
    sqs.meta.events.unregister("after-call.sqs", session.note)


def _queue_life(sqs: Any, url: str, see: See, soon: Soon) -> None:
    name = url.rpartition("/")[2]
    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == url
    see(lambda: url in sqs.list_queues(QueueNamePrefix=name).get("QueueUrls", []), True)
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "45"})

    def attributes(*names: str) -> dict[str, str]:
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)
        return dict(found.get("Attributes", {}))

    see(lambda: attributes("VisibilityTimeout"), {"VisibilityTimeout": "45"})
    sqs.tag_queue(QueueUrl=url, Tags={"team": "dove", "tier": "one"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["tier"])
    see(lambda: sqs.list_queue_tags(QueueUrl=url).get("Tags"), {"team": "dove"})
    sqs.add_permission(
        QueueUrl=url, Label="one", AWSAccountIds=["111122223333"], Actions=["SendMessage"]
    )
    soon(lambda: sqs.remove_permission(QueueUrl=url, Label="one"))


def _message_life(sqs: Any, url: str) -> None:
    sqs.send_message(QueueUrl=url, MessageBody="0")
    sqs.send_message_batch(
        QueueUrl=url, Entries=[{"Id": f"{n}", "MessageBody": f"{n}"} for n in (1, 2, 3)]
    )
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    first, second, third, fourth = [message["ReceiptHandle"] for message in messages]
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=first, VisibilityTimeout=60)
    sqs.change_message_visibility_batch(
        QueueUrl=url, Entries=[{"Id": "2", "ReceiptHandle": second, "VisibilityTimeout": 60}]
    )
    sqs.delete_message(QueueUrl=url, ReceiptHandle=third)
    sqs.delete_message_batch(QueueUrl=url, Entries=[{"Id": "4", "ReceiptHandle": fourth}])
    sqs.purge_queue(QueueUrl=url)


def _move_life(sqs: Any, url: str, dead_url: str, see: See, soon: Soon) -> None:
    dead_arn = arn_of(sqs, dead_url)
    policy = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 3})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})
    see(lambda: sqs.list_dead_letter_source_queues(QueueUrl=dead_url)["queueUrls"], [url])
    for number in range(DEAD_LETTERS):
        sqs.send_message(QueueUrl=dead_url, MessageBody=f"{number}")
    arn = arn_of(sqs, url)
    started = soon(
        lambda: sqs.start_message_move_task(
            SourceArn=dead_arn, DestinationArn=arn, MaxNumberOfMessagesPerSecond=1
        )
    )

    def states() -> list[str]:
        found = sqs.list_message_move_tasks(SourceArn=dead_arn)
        return [task["Status"] for task in found.get("Results", [])]

    see(states, ["RUNNING"])
    cancelled = soon(lambda: sqs.cancel_message_move_task(TaskHandle=started["TaskHandle"]))
    assert cancelled["ApproximateNumberOfMessagesMoved"] < DEAD_LETTERS


def _exists(sqs: Any, url: str) -> bool:
    try:
        sqs.get_queue_url(QueueName=url.rpartition("/")[2])
    except sqs.exceptions.QueueDoesNotExist:
        return False
    return True


def test_every_operation_of_the_model_round_trips(
    session: Session, new_queue: NewQueue, see: See, soon: Soon
) -> None:
    sqs = session.client
    url, dead_url = new_queue(), new_queue()
    _queue_life(sqs, url, see, soon)
    _message_life(sqs, url)
    _move_life(sqs, url, dead_url, see, soon)
    sqs.delete_queue(QueueUrl=dead_url)
    see(lambda: _exists(sqs, dead_url), False)
    operations = set(sqs.meta.service_model.operation_names)
    assert len(operations) == 23
    assert session.answered == operations
