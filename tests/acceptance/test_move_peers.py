"""`dovemq move` from moto into DoveMQ and back, each way killed half-way and resumed."""

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.peers import starting
from dovemq.testing.local_server import LocalServer
from tests.acceptance.moving import Move, Place, in_order

COUNT = 300
FIFO_COUNT = 120
"""Few, since moto looks at all messages of a queue again and again, most of all at FIFO ones."""
LEASE_SECONDS = 5


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    running = starting.moto(Path(), tmp_path_factory.mktemp("moto"))
    try:
        yield Place(
            {
                "endpoint_url": f"http://{running.address}",
                "region_name": "us-east-1",
                "aws_access_key_id": "any",
                "aws_secret_access_key": "any",
            }
        )
    finally:
        running.stop()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with LocalServer(tmp_path_factory.mktemp("ours") / "data") as server:
        yield Place.of(server)


def copy_with_a_kill(old: Place, source: str, new: Place, target: str, count: int) -> None:
    # One worker: moto may hand a message to two that ask at the same time.
    move = Move(old, source, new, target, ["--lease", str(LEASE_SECONDS), "--workers", "1"])
    with move.half_done(count) as process:
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert 0 < new.visible(target) < count
    code, summary = move.finish()
    assert (code, summary["remaining"], summary["refused"]) == (0, 0, 0)


def test_messages_go_from_moto_to_us_and_back_without_loss(moto: Place, ours: Place) -> None:
    source, here, back = moto.create("plain"), ours.create("plain"), moto.create("plain-back")
    moto.fill(source, COUNT)
    copy_with_a_kill(moto, source, ours, here, COUNT)
    copy_with_a_kill(ours, here, moto, back, COUNT)
    found = Counter(moto.bodies(back))
    assert set(found) == set(range(COUNT))
    # What a mover with one worker holds, sent and not yet deleted, at each of the two kills.
    assert sum(found.values()) - COUNT <= 20


def test_groups_come_from_moto_without_loss_or_duplicate(moto: Place, ours: Place) -> None:
    # Not in order: moto hands out a group's last message first when the leases of several end.
    source, here = moto.create("from.fifo"), ours.create("from.fifo")
    moto.fill(source, FIFO_COUNT)
    copy_with_a_kill(moto, source, ours, here, FIFO_COUNT)
    assert sorted(ours.bodies(here)) == list(range(FIFO_COUNT))


def test_groups_go_to_moto_without_loss_duplicate_or_disorder(moto: Place, ours: Place) -> None:
    here, target = ours.create("to.fifo"), moto.create("to.fifo")
    ours.fill(here, FIFO_COUNT)
    copy_with_a_kill(ours, here, moto, target, FIFO_COUNT)
    found = moto.bodies(target)
    assert sorted(found) == list(range(FIFO_COUNT))
    assert in_order(found, FIFO_COUNT)
