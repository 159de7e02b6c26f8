"""`dovemq copy` between two real servers, killed and interrupted half-way."""

import signal
from collections import Counter
from collections.abc import Iterator

import pytest

from dovemq.testing.local_server import LocalServer
from tests.acceptance.moving import Copy, Place, ended, in_order

COUNT = 4_000
LEASE_SECONDS = 2


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Place]]:
    folder = tmp_path_factory.mktemp("copy")
    with LocalServer(folder / "old") as old, LocalServer(folder / "new") as new:
        yield Place.of(old), Place.of(new)


def filled(places: tuple[Place, Place], name: str) -> Copy:
    old, new = places
    source, target = old.create(name), new.create(name)
    old.fill(source, COUNT)
    return Copy(old, source, new, target, ["--lease", str(LEASE_SECONDS)])


def test_killed_copy_is_resumed_without_loss(places: tuple[Place, Place]) -> None:
    copy = filled(places, "plain")
    with copy.half_done(COUNT) as process:
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert 0 < copy.new.visible(copy.target) < COUNT
    code, summary = copy.finish()
    assert (code, summary["remaining"], summary["refused"]) == (0, 0, 0)
    found = Counter(copy.new.bodies(copy.target))
    assert set(found) == set(range(COUNT))
    # What one mover holds at a time, sent and not yet deleted.
    assert sum(found.values()) - COUNT <= 40


def test_killed_copy_of_a_fifo_queue_is_resumed_without_loss_or_duplicate(
    places: tuple[Place, Place],
) -> None:
    copy = filled(places, "ordered.fifo")
    with copy.half_done(COUNT) as process:
        process.kill()
    code, summary = copy.finish()
    assert (code, summary["remaining"]) == (0, 0)
    found = copy.new.bodies(copy.target)
    assert sorted(found) == list(range(COUNT))
    assert in_order(found, COUNT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_copy_finishes_what_it_has_received(
    places: tuple[Place, Place], number: signal.Signals
) -> None:
    copy = filled(places, f"broken-off-{number}")
    with copy.half_done(COUNT) as process:
        process.send_signal(number)
        code, summary = ended(process)
        assert (code, summary["stopped"]) == (130, True)
    assert copy.old.visible(copy.source) == summary["remaining"] == COUNT - summary["copied"]
    both = copy.old.bodies(copy.source) + copy.new.bodies(copy.target)
    assert sorted(both) == list(range(COUNT))
