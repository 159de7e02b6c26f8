"""kill -9 and SIGTERM of a real server under load."""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from dovemq.client import SqsClient
from dovemq.client.errors import ClientError
from dovemq.sqs.shapes import SendMessageRequest
from dovemq.testing.local_server import LocalServer
from tests.faults.inspection import broken_promises
from tests.faults.ledger import SENDING, SENT, Ledger, body_of, name_in
from tests.faults.traffic import PLAIN, Traffic, client_of, counted

ROUNDS: Final = int(os.environ.get("DOVETEST_KILL_ROUNDS", "6"))
HASTY_ROUNDS: Final = 6
WORKERS: Final = 12
_ANSWERS_MAX: Final = 400
_LEASE_SECONDS: Final = 600
_EACH: Final = 12
"""Senders, and as many receivers; together fewer than the client has connections."""


async def killed_again_and_again(
    server: LocalServer, ledger: Ledger, rounds: int, rng: random.Random
) -> list[str]:
    """Problems that the counters show after each restart."""
    traffic = Traffic(ledger, rng.randrange(1_000_000))
    problems = []
    for number in range(rounds):
        server.start()
        if number and not ledger.least() <= (count := await counted(server)) <= ledger.most():
            problems.append(f"{count} counted, {ledger.least()} to {ledger.most()} expected")
        await traffic.run(server, WORKERS, rng.randrange(1, _ANSWERS_MAX))
    return problems


def test_no_promise_is_broken_by_killing_the_server_under_load(tmp_path: Path) -> None:
    server, ledger = LocalServer(tmp_path / "data"), Ledger()
    rng = random.Random(ROUNDS)
    problems = asyncio.run(killed_again_and_again(server, ledger, ROUNDS, rng))
    assert problems + broken_promises(server.data, ledger) == []
    assert ledger.sent_count
    assert ledger.settled_count


def test_kill_is_noticed_when_the_server_answers_before_its_commit(tmp_path: Path) -> None:
    hasty = (sys.executable, "-m", "tests.faults.hasty_server")
    server, ledger = LocalServer(tmp_path / "data", command=hasty), Ledger()
    asyncio.run(killed_again_and_again(server, ledger, HASTY_ROUNDS, random.Random(1)))
    findings = broken_promises(server.data, ledger)
    assert any("lost" in finding or "came back" in finding for finding in findings)


class Shift:
    """Senders, and receivers that keep what they got, over a restart of the server."""

    def __init__(self, received_before: int) -> None:
        self._received_before = received_before
        self.ledger = Ledger()
        self.received: Counter[str] = Counter()
        self._numbers = iter(range(1_000_000))
        self._busy = asyncio.Event()

    async def until_stopped(self, server: LocalServer) -> int:
        """The server's exit code on a SIGTERM that came in the middle of the work."""
        async with client_of(server) as client:
            await client.create_queue(PLAIN, {}, {})
            work = [asyncio.create_task(self._send(client)) for _ in range(_EACH)]
            work += [
                asyncio.create_task(self._receive(client, wait_seconds=5)) for _ in range(_EACH)
            ]
            await self._busy.wait()
            server.signal(signal.SIGTERM)
            await asyncio.gather(*work)
        return await asyncio.to_thread(server.wait)

    async def receive_the_rest(self, server: LocalServer) -> None:
        async with client_of(server) as client:
            await self._receive(client, wait_seconds=0)

    async def _send(self, client: SqsClient) -> None:
        try:
            while True:
                name = f"m.{next(self._numbers)}"
                self.ledger.note(SENDING, [name])
                message = SendMessageRequest(queue_url=PLAIN, message_body=body_of(name))
                await client.send(PLAIN, message)
                self.ledger.note(SENT, [name])
        except ClientError:
            return

    async def _receive(self, client: SqsClient, wait_seconds: int) -> None:
        try:
            while messages := await client.receive(
                PLAIN, 3, wait_seconds=wait_seconds, lease_seconds=_LEASE_SECONDS
            ):
                self.received.update(name_in(message.body) for message in messages)
                if self.received.total() >= self._received_before:
                    self._busy.set()
        except ClientError:
            return


@pytest.mark.parametrize("received_before", [1, 500, 2_000])
def test_every_message_is_received_once_over_a_graceful_restart(
    tmp_path: Path, received_before: int
) -> None:
    server, shift = LocalServer(tmp_path / "data"), Shift(received_before)
    server.start()
    assert asyncio.run(shift.until_stopped(server)) == 0
    server.start()
    asyncio.run(shift.receive_the_rest(server))
    server.stop()
    assert [name for name, count in shift.received.items() if count > 1] == []
    assert shift.ledger.expected() - shift.received.keys() == set()
