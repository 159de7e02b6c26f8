"""A valid request for each of the 23 operations, as parameters in JSON's form.

The world is what requests refer to: queues that are there, receipts and move tasks that were
handed out. Answers feed it, within bounds.
"""

import random
import re
from collections import deque
from collections.abc import Callable
from typing import Any, Final

ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"
PLAIN, ORDERED, DEAD = "fuzz", "fuzz.fifo", "fuzz-dead"
_SPARE_QUEUES: Final = 12
_LABELS: Final = 4
_KEPT: Final = 16
_RECEIPT: Final = re.compile(rb'ReceiptHandle(?:>|":")([^<"]+)')
_TASK: Final = re.compile(rb'TaskHandle(?:>|":")([^<"]+)')

Parameters = dict[str, Any]


class World:
    def __init__(self, endpoint_url: str, rng: random.Random) -> None:
        self._endpoint_url = endpoint_url
        self.rng = rng
        self._receipts: deque[str] = deque(["none"], _KEPT)
        self._tasks: deque[str] = deque(["none"], _KEPT)
        self._count = 0

    def url(self, name: str = PLAIN) -> str:
        return f"{self._endpoint_url}/{ACCOUNT}/{name}"

    def arn(self, name: str) -> str:
        return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"

    def spare(self) -> str:
        return f"spare-{self.rng.randrange(_SPARE_QUEUES)}"

    def fresh(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def label(self) -> str:
        return f"label-{self.rng.randrange(_LABELS)}"

    def receipt(self) -> str:
        return self._recent(self._receipts)

    def task(self) -> str:
        return self._recent(self._tasks)

    def learn(self, answer: bytes) -> None:
        """Receipts and task handles of an answer in either protocol."""
        self._receipts.extend(found.decode() for found in _RECEIPT.findall(answer))
        self._tasks.extend(found.decode() for found in _TASK.findall(answer))

    def _recent(self, known: deque[str]) -> str:
        """Mostly the newest receipt, since purges and deletes soon make old ones useless."""
        return known[-1] if self.rng.random() < 0.7 else self.rng.choice(known)


def setting_up(world: World) -> list[tuple[str, Parameters]]:
    """Requests that make the queues which the samples speak of."""
    redrive = f'{{"deadLetterTargetArn":"{world.arn(DEAD)}","maxReceiveCount":"3"}}'
    attributes = {
        DEAD: {},
        PLAIN: {"RedrivePolicy": redrive, "VisibilityTimeout": "5"},
        ORDERED: {"FifoQueue": "true", "ContentBasedDeduplication": "true"},
    }
    return [
        ("CreateQueue", {"QueueName": name, "Attributes": given})
        for name, given in attributes.items()
    ]


def _send(world: World) -> Parameters:
    text = {"DataType": "String", "StringValue": "red"}
    octets = {"DataType": "Binary.png", "BinaryValue": "AAEC"}
    trace = {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}
    if world.rng.random() < 0.3:
        group = {"MessageGroupId": "g", "MessageDeduplicationId": world.fresh()}
        return {"QueueUrl": world.url(ORDERED), "MessageBody": "in order", **group}
    return {
        "QueueUrl": world.url(),
        "MessageBody": "a message of some words",
        "DelaySeconds": 0,
        "MessageAttributes": {"colour": text, "picture": octets},
        "MessageSystemAttributes": {"AWSTraceHeader": trace},
    }


def _send_batch(world: World) -> Parameters:
    entries = [{"Id": world.fresh(), "MessageBody": f"entry {n}"} for n in range(3)]
    return {"QueueUrl": world.url(world.rng.choice((PLAIN, PLAIN, DEAD))), "Entries": entries}


def _receive(world: World) -> Parameters:
    return {
        "QueueUrl": world.url(world.rng.choice((PLAIN, PLAIN, PLAIN, ORDERED))),
        "MaxNumberOfMessages": world.rng.choice((1, 10)),
        "VisibilityTimeout": 5,
        "WaitTimeSeconds": 0,
        "AttributeNames": ["All"],
        "MessageAttributeNames": ["All", "col.*"],
    }


def _settle(world: World) -> Parameters:
    return {"QueueUrl": world.url(), "ReceiptHandle": world.receipt()}


def _settle_batch(world: World) -> Parameters:
    entries = [{"Id": world.fresh(), "ReceiptHandle": world.receipt()} for _ in range(2)]
    return {"QueueUrl": world.url(), "Entries": entries}


def _extend(world: World) -> Parameters:
    return {**_settle(world), "VisibilityTimeout": world.rng.choice((0, 5, 60))}


def _extend_batch(world: World) -> Parameters:
    entries = [{**entry, "VisibilityTimeout": 3} for entry in _settle_batch(world)["Entries"]]
    return {"QueueUrl": world.url(), "Entries": entries}


def _create(world: World) -> Parameters:
    attributes = {"VisibilityTimeout": "30", "DelaySeconds": "0"}
    return {"QueueName": world.spare(), "Attributes": attributes, "tags": {"team": "a"}}


def _set(world: World) -> Parameters:
    seconds = world.rng.choice(("5", "6"))
    return {"QueueUrl": world.url(), "Attributes": {"VisibilityTimeout": seconds}}


def _permit(world: World) -> Parameters:
    return {
        "QueueUrl": world.url(world.spare()),
        "Label": world.label(),
        "AWSAccountIds": [ACCOUNT],
        "Actions": ["SendMessage"],
    }


def _start_move(world: World) -> Parameters:
    return {
        "SourceArn": world.arn(DEAD),
        "DestinationArn": world.arn(PLAIN),
        "MaxNumberOfMessagesPerSecond": world.rng.choice((20, 500)),
    }


def _of_queue(**more: object) -> Callable[[World], Parameters]:
    return lambda world: {"QueueUrl": world.url(), **more}


SAMPLES: Final[dict[str, Callable[[World], Parameters]]] = {
    "AddPermission": _permit,
    "CancelMessageMoveTask": lambda world: {"TaskHandle": world.task()},
    "ChangeMessageVisibility": _extend,
    "ChangeMessageVisibilityBatch": _extend_batch,
    "CreateQueue": _create,
    "DeleteMessage": _settle,
    "DeleteMessageBatch": _settle_batch,
    "DeleteQueue": lambda world: {"QueueUrl": world.url(world.spare())},
    "GetQueueAttributes": _of_queue(AttributeNames=["All", "QueueArn"]),
    "GetQueueUrl": lambda world: {"QueueName": PLAIN, "QueueOwnerAWSAccountId": ACCOUNT},
    "ListDeadLetterSourceQueues": lambda world: {"QueueUrl": world.url(DEAD), "MaxResults": 5},
    "ListMessageMoveTasks": lambda world: {"SourceArn": world.arn(DEAD), "MaxResults": 2},
    "ListQueueTags": _of_queue(),
    "ListQueues": lambda world: {"QueueNamePrefix": "fu", "MaxResults": 10},
    "PurgeQueue": lambda world: {"QueueUrl": world.url(world.rng.choice((ORDERED, DEAD)))},
    "ReceiveMessage": _receive,
    "RemovePermission": lambda world: {
        "QueueUrl": world.url(world.spare()),
        "Label": world.label(),
    },
    "SendMessage": _send,
    "SendMessageBatch": _send_batch,
    "SetQueueAttributes": _set,
    "StartMessageMoveTask": _start_move,
    "TagQueue": _of_queue(Tags={"team": "a", "cost": "b"}),
    "UntagQueue": _of_queue(TagKeys=["cost"]),
}
