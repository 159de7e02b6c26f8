"""An endpoint over the memory store, with a manual clock and prepared queues."""

import base64
import copy
import itertools
import json
import random
from collections.abc import Mapping
from string import Template
from typing import Any

from dovemq.core.access import AccessKey
from dovemq.core.ports import Store
from dovemq.service import build_service
from dovemq.service.audit import Audit
from dovemq.sqs.endpoint import SqsEndpoint
from dovemq.stores.memory import MemoryStore
from dovemq.telemetry.meter import Meter
from dovemq.telemetry.trace import Trace
from dovemq.testing.clock import ManualClock
from tests.wire.speaking import HOST, JSON, Answer, answer_of, request_of

ACCOUNT = "123456789012"
REGION = "us-east-1"
KEY = AccessKey("AKIATEST", "wire-test-secret", ACCOUNT)


class OneKey:
    def find(self, key_id: str) -> AccessKey | None:
        return KEY if key_id == KEY.key_id else None


class World:
    def __init__(
        self,
        *,
        strict_aws: bool = False,
        signed: bool = False,
        public_url: str | None = None,
        audit: Audit | None = None,
        root: str | None = None,
        trace: Trace | None = None,
        log_requests: bool = False,
        clock: ManualClock | None = None,
        store: Store | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.meter = Meter(trace)
        self.store = store or MemoryStore(random.Random(1), b"r" * 32, self.meter)
        numbers = itertools.count(1)

        def new_id() -> str:
            return f"00000000-0000-4000-8000-{next(numbers):012d}"

        self.new_id = new_id
        self.service = build_service(
            self.store,
            self.clock,
            new_id,
            root=root or ACCOUNT,
            strict_aws=strict_aws,
            observer=self.meter,
        )
        self.endpoint = SqsEndpoint(
            self.service,
            OneKey() if signed else None,
            REGION,
            ACCOUNT,
            public_url,
            new_id,
            audit,
            trace=trace,
            log_requests=log_requests,
        )

    def guest(self, account: str) -> "World":
        """The same service for another account."""
        there = copy.copy(self)
        there.endpoint = SqsEndpoint(self.service, None, REGION, account, None, self.new_id)
        return there

    async def call(
        self, protocol: str, operation: str, params: Mapping[str, Any], path: str = "/"
    ) -> Answer:
        response = await self.endpoint.handle(request_of(protocol, operation, params, path))
        return answer_of(protocol, operation, response)

    async def done(self, operation: str, **params: Any) -> dict[str, Any]:
        """The response to a request that must succeed."""
        answer = await self.call(JSON, operation, params)
        assert answer.status == 200, answer
        return answer.body

    async def queue(self, name: str = "orders", **attributes: str) -> str:
        made = await self.done("CreateQueue", QueueName=name, Attributes=attributes)
        url = made["QueueUrl"]
        assert isinstance(url, str)
        return url

    async def fifo(self, name: str = "orders.fifo", **attributes: str) -> str:
        return await self.queue(name, FifoQueue="true", **attributes)

    async def receipt(self, url: str, body: str = "work", **params: Any) -> str:
        """The receipt of a message that was just sent and received."""
        await self.done("SendMessage", QueueUrl=url, MessageBody=body, **params)
        got = await self.done("ReceiveMessage", QueueUrl=url)
        [message] = got["Messages"]
        receipt = message["ReceiptHandle"]
        assert isinstance(receipt, str)
        return receipt


def arn(name: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


def url(name: str) -> str:
    return f"http://{HOST}/{ACCOUNT}/{name}"


async def furnished(world: World) -> dict[str, str]:
    """Prepare the scene of the tables of cases; returns the values of `$name` in requests."""
    queue = await world.queue()
    fifo = await world.fifo()
    await world.queue("dead")
    await world.queue(
        "feeder",
        RedrivePolicy=f'{{"deadLetterTargetArn":"{arn("dead")}","maxReceiveCount":"3"}}',
    )
    await world.queue("closed", RedriveAllowPolicy='{"redrivePermission":"denyAll"}')
    lapsed = await world.receipt(queue)
    expired = await world.receipt(fifo, MessageGroupId="g", MessageDeduplicationId="d")
    world.clock.advance(31_000)
    gone = (await world.done("ReceiveMessage", QueueUrl=queue))["Messages"][0]["ReceiptHandle"]
    await world.done("DeleteMessage", QueueUrl=queue, ReceiptHandle=gone)
    live = await world.receipt(queue)
    small = await world.queue("small", MaximumMessageSize="1024")
    return {
        "queue": queue,
        "fifo": fifo,
        "dead": url("dead"),
        "dead_arn": arn("dead"),
        "feeder_arn": arn("feeder"),
        "closed_arn": arn("closed"),
        "fifo_arn": arn("orders.fifo"),
        "queue_arn": arn("orders"),
        "small": small,
        "lapsed": lapsed,
        "expired": expired,
        "gone": gone,
        "live": live,
        "handle_of_no_queue": _handle(arn("none")),
        "handle_of_others": _handle("arn:aws:sqs:us-east-1:999999999999:dead"),
        "handle_of_no_task": _handle(arn("dead")),
    }


def _handle(source_arn: str) -> str:
    told = {"taskId": "00000000-0000-4000-8000-ffffffffffff", "sourceArn": source_arn}
    return base64.b64encode(json.dumps(told).encode()).decode()


def filled(value: Any, scene: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return Template(value).safe_substitute(scene)
    if isinstance(value, list):
        return [filled(each, scene) for each in value]
    if isinstance(value, dict):
        return {name: filled(each, scene) for name, each in value.items()}
    return value
