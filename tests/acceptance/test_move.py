"""`dovemq move` between two real servers, killed and interrupted half-way."""

import signal
from collections import Counter
from collections.abc import Iterator

import pytest

from dovemq.testing.local_server import LocalServer
from tests.acceptance.moving import Move, Place, ended, in_order

COUNT = 4_000
LEASE_SECONDS = 2


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Place]]:
    folder = tmp_path_factory.mktemp("move")
    with LocalServer(folder / "old") as old, LocalServer(folder / "new") as new:
        yield Place.of(old), Place.of(new)


def filled(places: tuple[Place, Place], name: str) -> Move:
    old, new = places
    source, target = old.create(name), new.create(name)
    old.fill(source, COUNT)
    return Move(old, source, new, target, ["--lease", str(LEASE_SECONDS)])


def test_killed_move_is_resumed_without_loss(places: tuple[Place, Place]) -> None:
    move = filled(places, "plain")
    with move.half_done(COUNT) as process:
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert 0 < move.new.visible(move.target) < COUNT
    code, summary = move.finish()
    assert (code, summary["remaining"], summary["refused"]) == (0, 0, 0)
    found = Counter(move.new.bodies(move.target))
    assert set(found) == set(range(COUNT))
    # What one mover holds at a time, sent and not yet deleted.
    assert sum(found.values()) - COUNT <= 40


def test_killed_move_of_a_fifo_queue_is_resumed_without_loss_or_duplicate(
    places: tuple[Place, Place],
) -> None:
    move = filled(places, "ordered.fifo")
    with move.half_done(COUNT) as process:
        process.kill()
    code, summary = move.finish()
    assert (code, summary["remaining"]) == (0, 0)
    found = move.new.bodies(move.target)
    assert sorted(found) == list(range(COUNT))
    assert in_order(found, COUNT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_move_finishes_what_it_has_received(
    places: tuple[Place, Place], number: signal.Signals
) -> None:
    move = filled(places, f"broken-off-{number}")
    with move.half_done(COUNT) as process:
        process.send_signal(number)
        code, summary = ended(process)
        assert (code, summary["stopped"]) == (130, True)
    assert move.old.visible(move.source) == summary["remaining"] == COUNT - summary["moved"]
    both = move.old.bodies(move.source) + move.new.bodies(move.target)
    assert sorted(both) == list(range(COUNT))
