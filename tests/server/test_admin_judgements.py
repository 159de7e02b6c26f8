"""`GET /v1/accounts/{account}/may`: whether an account may do something, and why."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.server.admin_world import ACCOUNT, World

FRIEND = "222222222222"
POLICY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": {
            "Sid": "near",
            "Effect": "Allow",
            "Principal": {"AWS": FRIEND},
            "Action": "sqs:SendMessage",
            "Resource": "*",
            "Condition": {
                "IpAddress": {"aws:SourceIp": "10.0.0.0/8"},
                "Bool": {"aws:SecureTransport": "true"},
                "StringLike": {"aws:UserAgent": "boto3/*"},
            },
        },
    }
)
NEAR = {"address": "10.1.2.3", "secure": "true", "user_agent": "boto3/1.40"}


async def shared(world: World) -> None:
    await world.queue("jobs", policy=POLICY)
    await world.accounts.add("friend", number=FRIEND)


async def asked(world: World, account: str = "friend", **query: str) -> tuple[int, Any]:
    known = {"action": "SendMessage", "queue": f"{ACCOUNT}/jobs", **query}
    return await world.ask("GET", f"/v1/accounts/{account}/may", urlencode(known))


async def test_account_that_may_is_told_by_which_statement(tmp_path: Path) -> None:
    world = World(tmp_path)
    await shared(world)
    assert await asked(world, **NEAR) == (
        200,
        {
            "account": FRIEND,
            "action": "SendMessage",
            "queue": f"{ACCOUNT}/jobs",
            "allowed": True,
            "reason": "a statement allows SendMessage, and none denies it",
            "statement": "near",
            "steps": ["SendMessage: near allows it"],
        },
    )


async def test_disabled_account_may_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    await shared(world)
    await world.accounts.change(FRIEND, enabled=False)
    _, told = await asked(world, **NEAR)
    assert (told["allowed"], told["statement"]) == (False, None)
    assert told["reason"] == "the account is disabled, so its keys are invalid"


async def test_account_that_may_not_is_told_what_fails(tmp_path: Path) -> None:
    world = World(tmp_path)
    await shared(world)
    _, told = await asked(world, **{**NEAR, "secure": "false"})
    assert (told["allowed"], told["statement"]) == (False, None)
    assert told["steps"] == [
        "SendMessage: near allows nothing here: Bool aws:SecureTransport true does not hold, "
        "it is false"
    ]


@pytest.mark.parametrize(
    "queue",
    [
        "jobs",
        f"{ACCOUNT}/jobs",
        f"http://localhost:9324/{ACCOUNT}/jobs",
        f"arn:aws:sqs:us-east-1:{ACCOUNT}:jobs",
    ],
)
@pytest.mark.parametrize("action", ["PurgeQueue", "purgequeue", "SQS:PurgeQueue"])
async def test_queue_and_action_are_named_as_people_do(
    tmp_path: Path, queue: str, action: str
) -> None:
    world = World(tmp_path)
    await shared(world)
    _, told = await asked(world, ACCOUNT, queue=queue, action=action)
    assert (told["allowed"], told["action"]) == (True, "PurgeQueue")


@pytest.mark.parametrize("queue", ["none", "http://x/y/z", "a/b/c/d"])
async def test_decision_names_a_queue_that_does_not_exist(tmp_path: Path, queue: str) -> None:
    world = World(tmp_path)
    status, told = await asked(world, "root", queue=queue)
    assert (status, told["allowed"], told["queue"]) == (200, False, None)
    assert told["reason"] == "there is no such queue"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"action": "Fly"}, "action must be an operation of SQS, such as SendMessage."),
        ({"queue": ""}, "queue must be a URL, an ARN, number/name, or a name."),
        ({"address": "here"}, "address must be an IP address."),
        ({"secure": "maybe"}, "secure must be true or false."),
    ],
)
async def test_question_that_makes_no_sense_is_refused(
    tmp_path: Path, query: dict[str, str], text: str
) -> None:
    world = World(tmp_path)
    status, told = await asked(world, "root", **query)
    assert (status, told["error"]["message"]) == (400, text)


async def test_missing_account_is_reported(tmp_path: Path) -> None:
    assert (await asked(World(tmp_path), "nobody"))[0] == 404
