"""Errors of accounts whose quota is used up, in both protocols."""

import pytest

from dovemq.core.accounts import Quotas
from tests.wire.speaking import PROTOCOLS, Answer
from tests.wire.world import ACCOUNT, World


async def _limited(**quotas: int) -> World:
    world = World()
    await world.service.accounts.change(ACCOUNT, quotas=Quotas(**quotas))
    return world


def _told(answer: Answer) -> tuple[int, str, str]:
    return answer.status, answer.code, answer.text


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_queue_beyond_the_quota_is_over_limit(protocol: str) -> None:
    world = await _limited(queues_max=1)
    await world.queue("orders")
    refused = await world.call(protocol, "CreateQueue", {"QueueName": "more"})
    text = f"Account {ACCOUNT} has reached its quota queues_max=1: 1 in use, 1 more asked for."
    assert _told(refused) == (403, "OverLimit", text)
    again = await world.call(protocol, "CreateQueue", {"QueueName": "orders"})
    assert again.status == 200


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_send_beyond_the_quota_is_over_limit(protocol: str) -> None:
    world = await _limited(bytes_max=400)
    url = await world.queue("orders")
    send = {"QueueUrl": url, "MessageBody": "work"}
    for _ in range(2):
        assert (await world.call(protocol, "SendMessage", send)).status == 200
    refused = await world.call(protocol, "SendMessage", send)
    text = f"Account {ACCOUNT} has reached its quota bytes_max=400: 384 in use, 192 more asked for."
    assert _told(refused) == (403, "OverLimit", text)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_batch_beyond_the_quota_is_refused_and_nothing_of_it_is_sent(protocol: str) -> None:
    world = await _limited(bytes_max=400)
    url = await world.queue("orders")
    entries = [{"Id": each, "MessageBody": "work"} for each in "abc"]
    batch = {"QueueUrl": url, "Entries": entries}
    refused = await world.call(protocol, "SendMessageBatch", batch)
    assert _told(refused)[:2] == (403, "OverLimit")
    batch = {"QueueUrl": url, "Entries": entries[:2]}
    sent = await world.call(protocol, "SendMessageBatch", batch)
    assert sent.status == 200
    assert len(sent.body["Successful"]) == 2
    got = await world.done("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)
    assert len(got["Messages"]) == 2
