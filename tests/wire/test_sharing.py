"""Queues that other accounts use, within the policy and beyond it."""

import json
from typing import Any

import msgspec
import pytest

from dovemq.sqs.operations import OPERATIONS
from tests.wire.case import NO_QUEUE, Refused, denied
from tests.wire.speaking import JSON, PROTOCOLS, Answer, answer_of, request_of
from tests.wire.test_refusals import ABOUT_A_QUEUE, VALID
from tests.wire.world import ACCOUNT, World, arn, furnished, url

FRIEND = "210987654321"
STRANGER = "999999999999"


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def statement(**elements: Any) -> dict[str, Any]:
    return {
        "Effect": "Allow",
        "Principal": {"AWS": FRIEND},
        "Action": "sqs:*",
        "Resource": arn("orders"),
        **elements,
    }


def assert_refused(answer: Answer, expected: Refused, protocol: str) -> None:
    text = expected.text if protocol == JSON else expected.query_text or expected.text
    assert (answer.status, answer.code, answer.text) == (expected.status, expected.code, text)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_friend_sends_receives_and_deletes_under_its_own_name(protocol: str) -> None:
    world = World()
    queue = await world.queue(Policy=policy(statement()))
    friend = world.guest(FRIEND)
    sent = await friend.call(
        protocol, "SendMessage", {"QueueUrl": queue, "MessageBody": "from a friend"}
    )
    assert sent.status == 200
    asked = {"QueueUrl": queue, "MessageSystemAttributeNames": ["SenderId"]}
    got = await friend.call(protocol, "ReceiveMessage", asked)
    [message] = got.body["Messages"]
    assert message["Attributes"] == {"SenderId": FRIEND}
    receipt = {"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]}
    assert (await friend.call(protocol, "DeleteMessage", receipt)).status == 200


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_permission_is_given_and_taken_back(protocol: str) -> None:
    world = World()
    queue = await world.queue()
    friend = world.guest(FRIEND)
    send = {"QueueUrl": queue, "MessageBody": "m"}
    assert_refused(
        await friend.call(protocol, "SendMessage", send), denied(ACCOUNT, "orders"), protocol
    )
    permission = {"QueueUrl": queue, "Label": "one", "AWSAccountIds": [FRIEND],
                  "Actions": ["SendMessage"]}  # fmt: skip
    assert (await world.call(protocol, "AddPermission", permission)).status == 200
    assert (await friend.call(protocol, "SendMessage", send)).status == 200
    batch = {"QueueUrl": queue, "Entries": [{"Id": "a", "MessageBody": "m"}]}
    assert (await friend.call(protocol, "SendMessageBatch", batch)).status == 200
    assert (await friend.call(protocol, "ReceiveMessage", {"QueueUrl": queue})).status == 403
    removal = {"QueueUrl": queue, "Label": "one"}
    assert (await world.call(protocol, "RemovePermission", removal)).status == 200
    assert (await friend.call(protocol, "SendMessage", send)).status == 403


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_url_of_a_shared_queue_is_returned_to_allowed_accounts(protocol: str) -> None:
    world = World()
    queue = await world.queue(Policy=policy(statement(Action="sqs:GetQueueUrl")))
    asked = {"QueueName": "orders", "QueueOwnerAWSAccountId": ACCOUNT}
    friend, stranger = world.guest(FRIEND), world.guest(STRANGER)
    found = await friend.call(protocol, "GetQueueUrl", asked)
    assert found.body == {"QueueUrl": queue}
    for name in ("orders", "none"):
        answer = await stranger.call(protocol, "GetQueueUrl", {**asked, "QueueName": name})
        assert_refused(answer, NO_QUEUE, protocol)
    assert_refused(
        await friend.call(protocol, "GetQueueUrl", {"QueueName": "orders"}), NO_QUEUE, protocol
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("operation", ABOUT_A_QUEUE)
async def test_queue_of_another_that_is_there_looks_like_one_that_is_not(
    operation: str, protocol: str
) -> None:
    world = World()
    await world.queue(Policy=policy(statement()))
    stranger = world.guest(STRANGER)
    for name in ("orders", "none"):
        request = {"QueueUrl": url(name), **VALID.get(operation, {})}
        answer = await stranger.call(protocol, operation, request)
        assert_refused(answer, denied(ACCOUNT, name), protocol)


async def test_name_that_goes_on_and_on_is_not_echoed_whole() -> None:
    request = {"QueueUrl": f"http://h/{STRANGER}/" + "q" * 100_000}
    answer = await World().call(JSON, "PurgeQueue", request)
    assert answer.code == "AccessDenied"
    assert len(answer.text) < 1_000


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_owner_that_is_denied_gets_an_error_and_can_repair_the_policy(protocol: str) -> None:
    world = World()
    queue = await world.queue()
    locked = policy(statement(Effect="Deny", Principal="*", Sid="no"))
    await world.done("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": locked})
    send = {"QueueUrl": queue, "MessageBody": "m"}
    for operation, request in (("SendMessage", send), ("GetQueueUrl", {"QueueName": "orders"})):
        answer = await world.call(protocol, operation, request)
        assert_refused(answer, denied(ACCOUNT, "orders"), protocol)
    asked = {"QueueUrl": queue, "AttributeNames": ["Policy"]}
    assert (await world.call(protocol, "GetQueueAttributes", asked)).status == 200
    removal = {"QueueUrl": queue, "Label": "no"}
    assert (await world.call(protocol, "RemovePermission", removal)).status == 200
    assert (await world.call(protocol, "SendMessage", send)).status == 200


@pytest.mark.parametrize(
    ("operation", "parameter"),
    [("StartMessageMoveTask", "SourceArn"), ("ListMessageMoveTasks", "SourceArn")],
)
@pytest.mark.parametrize("right", ["own", "ReceiveMessage", "DeleteMessage"])
async def test_owner_does_not_move_what_it_may_not_receive(
    operation: str, parameter: str, right: str
) -> None:
    world = World()
    scene = await furnished(world)
    action = operation if right == "own" else right
    text = policy(statement(Effect="Deny", Action=f"sqs:{action}", Resource="*",
                            Principal="*"))  # fmt: skip
    dead = scene["dead"]
    await world.done("SetQueueAttributes", QueueUrl=dead, Attributes={"Policy": text})
    answer = await world.call(JSON, operation, {parameter: scene["dead_arn"]})
    assert_refused(answer, denied(ACCOUNT, "dead"), JSON)


async def test_nothing_is_moved_where_sending_is_denied() -> None:
    world = World()
    scene = await furnished(world)
    text = policy(statement(Effect="Deny", Action="sqs:SendMessage", Principal="*"))
    queue = scene["queue"]
    await world.done("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": text})
    request = {"SourceArn": scene["dead_arn"], "DestinationArn": scene["queue_arn"]}
    answer = await world.call(JSON, "StartMessageMoveTask", request)
    assert_refused(answer, denied(ACCOUNT, "orders"), JSON)


async def test_moves_and_redrive_stay_within_an_account_whatever_is_shared() -> None:
    world = World()
    scene = await furnished(world)
    shared = statement(Principal="*", Resource="*")
    await world.guest(FRIEND).queue("theirs", Policy=policy(shared))
    theirs = arn("theirs").replace(ACCOUNT, FRIEND)
    move = {"SourceArn": scene["dead_arn"], "DestinationArn": theirs}
    answer = await world.call(JSON, "StartMessageMoveTask", move)
    assert_refused(answer, denied(FRIEND, "theirs"), JSON)
    redrive = json.dumps({"deadLetterTargetArn": theirs, "maxReceiveCount": 1})
    change = {"QueueUrl": scene["queue"], "Attributes": {"RedrivePolicy": redrive}}
    assert "owner should be same" in (await world.call(JSON, "SetQueueAttributes", change)).text


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_sources_are_listed_to_allowed_accounts(protocol: str) -> None:
    world = World()
    open_to_friend = {"Action": "sqs:*", "Resource": "*"}
    dead = await world.queue("dead", Policy=policy(statement(**open_to_friend)))
    redrive = json.dumps({"deadLetterTargetArn": arn("dead"), "maxReceiveCount": 3})
    await world.queue("hidden", RedrivePolicy=redrive)
    shown = await world.queue(
        "shown", RedrivePolicy=redrive, Policy=policy(statement(**open_to_friend))
    )
    asked = {"QueueUrl": dead}
    operation = "ListDeadLetterSourceQueues"
    mine = await world.call(protocol, operation, asked)
    assert mine.body == {"queueUrls": [url("hidden"), shown]}
    theirs = await world.guest(FRIEND).call(protocol, operation, asked)
    assert theirs.body == {"queueUrls": [shown]}


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ({"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}}, 200),
        ({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}, 403),
        ({"Bool": {"aws:SecureTransport": "true"}}, 200),
        ({"StringLike": {"aws:UserAgent": "boto3/*"}}, 200),
        ({"StringNotLike": {"aws:UserAgent": "boto3/*"}}, 403),
        ({"StringEquals": {"aws:Referer": "http://example.org/"}}, 200),
        ({"DateLessThan": {"aws:CurrentTime": "2023-11-14T22:13:21Z"}}, 200),
        ({"DateLessThan": {"aws:CurrentTime": "2023-11-14T22:13:20Z"}}, 403),
        ({"StringEquals": {"aws:ResourceTag/team": "blue"}}, 200),
        ({"StringEquals": {"aws:SourceAccount": ACCOUNT}}, 403),
    ],
)
async def test_conditions_are_judged_by_how_the_request_came(
    condition: dict[str, Any], status: int
) -> None:
    world = World()
    queue = await world.queue(Policy=policy(statement(Condition=condition)))
    await world.done("TagQueue", QueueUrl=queue, Tags={"team": "blue"})
    request = request_of(JSON, "SendMessage", {"QueueUrl": queue, "MessageBody": "m"})
    more = {"user-agent": "boto3/1.40", "referer": "http://example.org/"}
    came = msgspec.structs.replace(
        request, peer="203.0.113.9:4000", secure=True, headers={**request.headers, **more}
    )
    response = await world.guest(FRIEND).endpoint.handle(came)
    assert answer_of(JSON, "SendMessage", response).status == status


async def test_change_of_the_policy_holds_at_once() -> None:
    world = World()
    queue = await world.queue()
    friend = world.guest(FRIEND)
    for effect, status in (("Allow", 200), ("Deny", 403), ("Allow", 200)):
        text = policy(statement(Effect=effect))
        await world.done("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": text})
        got = await friend.call(JSON, "ReceiveMessage", {"QueueUrl": queue})
        assert got.status == status


def test_operations_that_name_no_queue_by_its_url_are_known() -> None:
    """These operations name their queue by ARN, name or handle, or not at all."""
    others = {"CancelMessageMoveTask", "CreateQueue", "GetQueueUrl", "ListMessageMoveTasks",
              "ListQueues", "StartMessageMoveTask"}  # fmt: skip
    assert set(OPERATIONS) - set(ABOUT_A_QUEUE) == others
