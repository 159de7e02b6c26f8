"""Directories and disks that a server cannot use: each gets a clear answer, nothing is lost."""

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw
import pytest

from dovemq.client import BlockingAdminClient, SqsClient
from dovemq.client.errors import Refused
from dovemq.load.faults.powercut import PowerCutDisk
from dovemq.sqs.shapes import SendMessageRequest
from dovemq.testing.local_server import LocalServer, StartFailed
from tests.faults.traffic import PLAIN, client_of

_RESUME_TRIES_MAX: Final = 400
_RESUME_PAUSE_SECONDS: Final = 0.2
_TAKEN_MAX: Final = 1_000
_PAGE_BYTES: Final = 4_096
_BODY: Final = "b" * 60_000
_DATABASE: Final = "dovemq.db"
_SEALS: Final = "dovemq.seals"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    made = LocalServer(tmp_path / "data")
    yield made
    if made.running:
        made.kill()


@pytest.fixture
def struck(disk: PowerCutDisk) -> Iterator[LocalServer]:
    """A server whose disk can be made to fail."""
    made = LocalServer(disk.root, env=disk.environment(), log=disk.root.with_name("log"))
    yield made
    if made.running:
        made.kill()


async def send(client: SqsClient, body: str) -> None:
    await client.send(PLAIN, SendMessageRequest(queue_url=PLAIN, message_body=body))


async def filled(server: LocalServer, bodies: list[str]) -> None:
    async with client_of(server) as client:
        await client.create_queue(PLAIN, {}, {})
        for body in bodies:
            await send(client, body)


async def received(client: SqsClient) -> list[str]:
    bodies = []
    while messages := await client.receive(PLAIN, 10, wait_seconds=0, lease_seconds=600):
        bodies += [message.body for message in messages]
    return sorted(bodies)


async def all_received(server: LocalServer) -> list[str]:
    async with client_of(server) as client:
        return await received(client)


def start_failure(server: LocalServer) -> str:
    with pytest.raises(StartFailed) as failed:
        server.start()
    assert "Traceback" not in str(failed.value)
    return str(failed.value)


def test_second_server_on_a_directory_is_refused_and_the_first_goes_on(
    server: LocalServer, tmp_path: Path
) -> None:
    server.start()
    asyncio.run(filled(server, ["before"]))
    second = LocalServer(server.data, log=tmp_path / "second.log")
    assert f"in use by process {server.pid}" in start_failure(second)
    assert asyncio.run(all_received(server)) == ["before"]


def test_read_only_directory_is_named_and_left_alone(
    disk: PowerCutDisk, struck: LocalServer
) -> None:
    struck.start()
    asyncio.run(filled(struck, ["kept"]))
    struck.stop()
    disk.switch("read-only", on=True)
    assert str(disk.root) in start_failure(struck)
    disk.switch("read-only", on=False)
    struck.start()
    assert asyncio.run(all_received(struck)) == ["kept"]


def test_newer_schema_is_refused_and_left_alone(server: LocalServer) -> None:
    server.start()
    server.stop()
    database = server.data / _DATABASE
    connection = apsw.Connection(str(database))
    connection.pragma("user_version", 9_999)
    connection.close()
    (server.data / _SEALS).unlink()
    before = hashlib.sha256(database.read_bytes()).digest()
    assert "9999" in start_failure(server)
    assert hashlib.sha256(database.read_bytes()).digest() == before


def test_database_that_is_none_is_refused_and_left_alone(server: LocalServer) -> None:
    server.data.mkdir(parents=True)
    database = server.data / _DATABASE
    database.write_bytes(b"\xa5" * 3 * _PAGE_BYTES)
    assert str(database) in start_failure(server)
    assert database.read_bytes() == b"\xa5" * 3 * _PAGE_BYTES


def test_database_with_a_broken_first_page_is_rebuilt(server: LocalServer) -> None:
    server.start()
    asyncio.run(filled(server, ["x"]))
    server.stop()
    database = server.data / _DATABASE
    damaged = b"\xa5" * _PAGE_BYTES + database.read_bytes()[_PAGE_BYTES:]
    database.write_bytes(damaged)
    server.start()
    assert asyncio.run(all_received(server)) == ["x"]
    assert (server.data / "damage" / "0001" / _DATABASE).read_bytes() == damaged


def test_damaged_body_is_not_delivered_and_does_not_hold_up_the_others(
    server: LocalServer,
) -> None:
    bodies = [f"{number}-" + chr(97 + number) * 20_000 for number in range(6)]
    server.start()
    asyncio.run(filled(server, bodies))
    server.stop()
    database = server.data / _DATABASE
    data = database.read_bytes()
    at = data.index(b"c" * 200)
    database.write_bytes(data[:at] + b"?" * 100 + data[at + 100 :])
    server.start()
    expected = [body for body in bodies if not body.startswith("2-")]
    assert asyncio.run(all_received(server)) == expected


def test_message_that_was_lost_is_named_by_the_admin_api_and_by_verify(
    server: LocalServer,
) -> None:
    server.start()
    asyncio.run(filled(server, ["kept" * 1_000, "lost" * 1_000]))
    server.stop()
    database = server.data / _DATABASE
    data = database.read_bytes()
    database.write_bytes(data.replace(b"lostlost", b"lastlost", 1))
    server.start()
    with BlockingAdminClient(server.admin_url, server.access_key) as admin:
        assert admin.health()["ready"]
        assert admin.health()["damage"] == 1
        (report,) = admin.damage()["reports"]
        (lost,) = report["lost"]
        findings = admin.verify()["findings"]
    assert lost["queue"].endswith(f"/{PLAIN}")
    assert any(lost["message_id"] in finding for finding in findings)
    assert "lastlost" not in str(report)
    assert lost["message_id"] in server.log_tail()


async def refused_status(client: SqsClient, body: str) -> int:
    try:
        await send(client, body)
    except Refused as error:
        return error.status
    return 200


async def resumed(client: SqsClient) -> bool:
    """The server looks for space once a second, so the client tries for a while."""
    for _ in range(_RESUME_TRIES_MAX):
        if await refused_status(client, "after") == 200:
            return True
        await asyncio.sleep(_RESUME_PAUSE_SECONDS)
    return False


async def live_through_a_full_disk(server: LocalServer, disk: PowerCutDisk) -> None:
    async with client_of(server) as client:
        await client.create_queue(PLAIN, {}, {})
        for number in range(5):
            await send(client, f"before-{number}")
        disk.switch("full", on=True)
        # What fits into pages that the log and the file have already may still be taken.
        taken = 0
        while (status := await refused_status(client, _BODY)) == 200 and taken < _TAKEN_MAX:
            taken += 1
        assert status == 503
        message = (await client.receive(PLAIN, 1, lease_seconds=600))[0]
        await client.settle(PLAIN, message.receipt_handle)
        disk.switch("full", on=False)
        assert await resumed(client)
        expected = sorted([f"before-{n}" for n in range(5)] + [_BODY] * taken + ["after"])
        expected.remove(message.body)
        assert await received(client) == expected


def test_full_disk_refuses_sends_and_takes_settles_until_space_returns(
    disk: PowerCutDisk, struck: LocalServer
) -> None:
    struck.start()
    asyncio.run(live_through_a_full_disk(struck, disk))


async def fail_syncs(server: LocalServer, disk: PowerCutDisk) -> list[int]:
    """Statuses of sends during and after the failure."""
    async with client_of(server) as client:
        await client.create_queue(PLAIN, {}, {})
        await send(client, "before")
        disk.switch("fail-sync", on=True)
        statuses = [await refused_status(client, "during")]
        disk.switch("fail-sync", on=False)
        statuses.append(await refused_status(client, "after"))
        with pytest.raises(Refused) as refused:
            await client.receive(PLAIN, 1)
        return [*statuses, refused.value.status]


def test_failed_sync_answers_503_until_restart_and_loses_nothing_acknowledged(
    disk: PowerCutDisk, struck: LocalServer
) -> None:
    struck.start()
    assert asyncio.run(fail_syncs(struck, disk)) == [503, 503, 503]
    struck.kill()
    struck.start()
    found = asyncio.run(all_received(struck))
    assert "before" in found
    assert "after" not in found
