"""The authorisation matrix: every operation, called in every way that a server meets.

Over a real socket, with real signatures and keys of real accounts. What is refused has changed
nothing: the whole store is compared.
"""

import email
import json
from collections.abc import Mapping
from typing import Any

import pytest

from dovemq.core import limits
from dovemq.core.access import AccessKey
from dovemq.core.accounts import Credential
from dovemq.core.commands import Move, Peek
from dovemq.core.queue import QueueKey
from dovemq.http import HttpRequest, HttpResponse
from dovemq.sqs.endpoint import SqsEndpoint
from dovemq.sqs.operations import OPERATIONS
from dovemq.sqs.signature import Signer
from tests.server.sockets import serving
from tests.wire.case import Call, Case
from tests.wire.cases_success import SUCCESS_CASES
from tests.wire.speaking import JSON, PROTOCOLS, Answer, answer_of, request_of
from tests.wire.world import ACCOUNT, REGION, World, arn, filled, furnished

GRANTED = "222222222222"
OTHER = "333333333333"
REPLAY_MS = 15 * limits.MINUTE_MS + limits.SECOND_MS

DONE = (200, "")
DENIED = (403, "AccessDenied")
HIDDEN = (400, "AWS.SimpleQueueService.NonExistentQueue")
NO_TASK = (404, "ResourceNotFoundException")
UNKNOWN_KEY = (403, "InvalidClientTokenId")
EXPIRED_KEY = (403, "ExpiredToken")
UNSIGNED = (403, "MissingAuthenticationToken")
MISMATCH = (403, "SignatureDoesNotMatch")

TO_ACCOUNTS: Mapping[str, tuple[tuple[int, str], tuple[int, str]]] = {
    "AddPermission": (DENIED, DENIED),
    "CancelMessageMoveTask": (NO_TASK, NO_TASK),
    "ChangeMessageVisibility": (DONE, DENIED),
    "ChangeMessageVisibilityBatch": (DONE, DENIED),
    "CreateQueue": (DONE, DONE),
    "DeleteMessage": (DONE, DENIED),
    "DeleteMessageBatch": (DONE, DENIED),
    "DeleteQueue": (DENIED, DENIED),
    "GetQueueAttributes": (DONE, DENIED),
    "GetQueueUrl": (DONE, HIDDEN),
    "ListDeadLetterSourceQueues": (DONE, DENIED),
    "ListMessageMoveTasks": (DENIED, DENIED),
    "ListQueueTags": (DENIED, DENIED),
    "ListQueues": (DONE, DONE),
    "PurgeQueue": (DONE, DENIED),
    "ReceiveMessage": (DONE, DENIED),
    "RemovePermission": (DENIED, DENIED),
    "SendMessage": (DONE, DENIED),
    "SendMessageBatch": (DONE, DENIED),
    "SetQueueAttributes": (DENIED, DENIED),
    "StartMessageMoveTask": (DENIED, DENIED),
    "TagQueue": (DENIED, DENIED),
    "UntagQueue": (DENIED, DENIED),
}
"""The answers to an account with every grant, and to any other account."""

TO_ALL: Mapping[str, tuple[int, str]] = {
    "owner": DONE,
    "disabled key": UNKNOWN_KEY,
    "key of a disabled account": UNKNOWN_KEY,
    "expired key": EXPIRED_KEY,
    "no signature": UNSIGNED,
    "tampered header": MISMATCH,
    "tampered body": MISMATCH,
    "replay after 15 minutes": MISMATCH,
}
"""The answer to every operation, for requests that would be the owner's."""

WAYS = (*TO_ALL, "granted account", "other account")

RUNNING = Move("00000000-0000-4000-8000-0000000000aa", f"{ACCOUNT}/dead", None, None, 0, 9)
"""A task that nobody runs, so that it stays as it is."""
WITH_RUNNING = (
    Case("a move is cancelled", "CancelMessageMoveTask", {"TaskHandle": "$handle"}, {}, "M"),
    Case("moves are listed", "ListMessageMoveTasks", {"SourceArn": "$dead_arn"}, {}, "M"),
)
GRANT: Call = (
    "AddPermission",
    {"QueueUrl": "$queue", "Label": "all", "AWSAccountIds": [GRANTED], "Actions": ["*"]},
)
POLICY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Allow",
            "Principal": {"AWS": GRANTED},
            "Action": "sqs:*",
            "Resource": arn("dead"),
        },
    }
)


def case_of(operation: str) -> Case:
    return next(each for each in (*WITH_RUNNING, *SUCCESS_CASES) if each.operation == operation)


def expected(operation: str, way: str) -> tuple[int, str]:
    granted, other = TO_ACCOUNTS[operation]
    return {**TO_ALL, "granted account": granted, "other account": other}[way]


class Matrix:
    """A prepared world whose endpoint checks signatures, with a key for each kind of caller."""

    def __init__(self) -> None:
        # Root has every right in the admin API and cannot be disabled: the owner is not root.
        self.world = World(root="000000000000")
        self.endpoint = SqsEndpoint(
            self.world.service,
            self.world.service.accounts,
            REGION,
            ACCOUNT,
            None,
            self.world.new_id,
        )
        self.scene: dict[str, str] = {}

    async def prepare(self, case: Case) -> None:
        world = self.world
        for name, number in (("owner", ACCOUNT), ("granted", GRANTED), ("other", OTHER)):
            await world.service.accounts.add(name, number=number)
        self.scene = await furnished(world)
        for operation, params in (*case.before, GRANT):
            await world.done(operation, **filled(params, self.scene))
        dead = self.scene["dead"]
        await world.done("SetQueueAttributes", QueueUrl=dead, Attributes={"Policy": POLICY})
        if case in WITH_RUNNING:
            await world.store.catalogue.save_move(RUNNING)
            listed = await world.done("ListMessageMoveTasks", SourceArn=self.scene["dead_arn"])
            self.scene["handle"] = listed["Results"][0]["TaskHandle"]

    async def key(self, way: str) -> AccessKey:
        accounts = self.world.service.accounts
        number = {"granted account": GRANTED, "other account": OTHER}.get(way, ACCOUNT)
        made: Credential = await accounts.add_credential(number)
        if way == "disabled key":
            await accounts.change_credential(number, made.key_id, enabled=False)
        elif way == "expired key":
            ended_ms = self.world.clock.now_ms()
            await accounts.change_credential(number, made.key_id, expires_ms=ended_ms)
        elif way == "key of a disabled account":
            await accounts.change(number, enabled=False)
        return AccessKey(made.key_id, made.secret, number)

    async def request(self, way: str, protocol: str, case: Case) -> bytes:
        """The request on the wire: it is signed first and altered afterwards."""
        plain = request_of(protocol, case.operation, filled(case.request, self.scene))
        headers = {**plain.headers, "x-note": "as signed"}
        body = plain.body
        if way != "no signature":
            signer = Signer(await self.key(way), region=REGION)
            now_ms = self.world.clock.now_ms()
            headers = signer.sign("POST", "/", "", headers, body, now_ms)
        if way == "tampered header":
            headers["x-note"] = "as sent"
        if way == "tampered body":
            body = body[:-1] + b" }" if protocol == JSON else body + b"&Extra=1"
        if way == "replay after 15 minutes":
            self.world.clock.advance(REPLAY_MS)
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join(["POST / HTTP/1.1", *lines, f"content-length: {len(body)}", "", ""])
        return head.encode("latin-1") + body

    async def everything(self) -> list[Any]:
        """The whole contents of the store: queues, move tasks, accounts, messages."""
        store, now_ms = self.world.store, self.world.clock.now_ms()
        queues = await store.catalogue.page(None, "", "", limits.QUEUES_LISTED.most)
        pages = [
            await store.partition(queue, 0).peek(Peek(limits.PEEK_COUNT.most), now_ms)
            for queue in queues
        ]
        return [queues, await store.catalogue.moves(), await store.catalogue.accounts(), pages]


async def asked(matrix: Matrix, protocol: str, operation: str, data: bytes) -> Answer:
    async def handle(request: HttpRequest) -> HttpResponse:
        return await matrix.endpoint.handle(request)

    async with serving(handle) as place:
        client = await place.connect()
        client.send(data)
        line = (await client.reader.readline()).split()
        fields = email.message_from_bytes(await client.reader.readuntil(b"\r\n\r\n"))
        body = await client.reader.readexactly(int(fields["content-length"]))
    headers = tuple((name.lower(), value) for name, value in fields.items())
    response = HttpResponse(int(line[1]), fields["content-type"], body, headers)
    return answer_of(protocol, operation, response)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
async def test_operation_is_answered_to_whom_it_is_due(
    operation: str, way: str, protocol: str
) -> None:
    matrix = Matrix()
    case = case_of(operation)
    await matrix.prepare(case)
    data = await matrix.request(way, protocol, case)
    before = await matrix.everything()
    answer = await asked(matrix, protocol, operation, data)
    assert (answer.status, answer.code) == expected(operation, way)
    if answer.status != 200:
        assert await matrix.everything() == before
    await matrix.world.service.drain()


def test_matrix_holds_every_operation() -> None:
    assert set(TO_ACCOUNTS) == set(OPERATIONS)
    assert QueueKey.parse(RUNNING.source).name == "dead"


@pytest.mark.parametrize(
    "operation", sorted(name for name in OPERATIONS if TO_ACCOUNTS[name][0] == DONE)
)
async def test_owners_own_request_changes_what_a_refused_one_does_not(operation: str) -> None:
    """The comparison of contents detects changes: operations that write do write."""
    looks_only = {"GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues", "ListQueues"}

    matrix = Matrix()
    case = case_of(operation)
    await matrix.prepare(case)
    data = await matrix.request("owner", JSON, case)
    before = await matrix.everything()
    await asked(matrix, JSON, operation, data)
    assert (await matrix.everything() == before) is (operation in looks_only)
