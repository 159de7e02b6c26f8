"""Backups and verifications over the admin API: one at a time, whatever becomes of the client."""

import asyncio
from pathlib import Path

import pytest

from dovemq.core.errors import StoreFailed
from dovemq.http import HttpResponse
from dovemq.server.answers import StreamedResponse
from tests.server.admin_world import World


async def _read(response: HttpResponse | StreamedResponse) -> bytes:
    assert isinstance(response, StreamedResponse)
    body = b""
    while len(body) < response.length:
        body += await response.read()
    return body


async def test_backup_is_streamed_one_at_a_time(tmp_path: Path) -> None:
    world = World(tmp_path)
    response = await world.call("POST", "/v1/backups")
    assert await _read(response) == world.care.copy
    status, document = await world.ask("POST", "/v1/backups")
    assert (status, document["error"]["code"]) == (409, "BackupRunning")
    assert isinstance(response, StreamedResponse)
    response.close()
    again = await world.call("POST", "/v1/backups")
    assert isinstance(again, StreamedResponse)
    again.close()


async def test_backup_of_a_client_that_leaves_makes_room_for_the_next(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.care.go.clear()
    asking = asyncio.create_task(world.call("POST", "/v1/backups"))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    assert (await world.ask("POST", "/v1/backups"))[0] == 409
    world.care.go.set()
    for _ in range(5):
        await asyncio.sleep(0)
    response = await world.call("POST", "/v1/backups")
    assert isinstance(response, StreamedResponse)
    response.close()


async def test_backup_that_fails_is_told_and_can_be_repeated(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.care.failure = StoreFailed("no space")
    status, document = await world.ask("POST", "/v1/backups")
    assert (status, document["error"]["code"]) == (503, "StoreFailed")
    world.care.failure = None
    response = await world.call("POST", "/v1/backups")
    assert isinstance(response, StreamedResponse)
    response.close()


async def test_verification_answers_its_findings(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert await world.ask("POST", "/v1/verifications") == (200, {"findings": []})
    world.care.findings = ["message 7 of queue a/b is damaged"]
    assert await world.ask("POST", "/v1/verifications") == (
        200,
        {"findings": world.care.findings},
    )


@pytest.mark.parametrize("path", ["/v1/backups", "/v1/verifications"])
async def test_store_that_keeps_nothing_offers_no_care(tmp_path: Path, path: str) -> None:
    world = World(tmp_path, durable=False)
    status, document = await world.ask("POST", path)
    assert (status, document["error"]["code"]) == (501, "NotKept")
    assert (await world.get("/v1/counters"))["store"] is None


async def test_verification_goes_on_alone_when_its_client_leaves(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.care.go.clear()
    asking = asyncio.create_task(world.call("POST", "/v1/verifications"))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    asking_again = world.ask("POST", "/v1/verifications")
    status, document = await asyncio.wait_for(asking_again, 10)
    assert (status, document["error"]["code"]) == (409, "VerificationRunning")
    world.care.go.set()
    while (await world.ask("POST", "/v1/verifications"))[0] == 409:
        await asyncio.sleep(0)
