"""Worker processes of this machine: started, ended, replaced, and found again."""

import itertools
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from dovemq.workflows.sizing.allocators.local import LocalAllocator, read_record

SECONDS_MAX = 60.0
LOOK_SECONDS = 0.02
WAITS = "import signal; signal.sigwait([signal.SIGTERM])"
DIES = "raise SystemExit(1)"


class Seconds:
    """A monotonic clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < end
        time.sleep(LOOK_SECONDS)


def program(code: str) -> Callable[[str], Sequence[str]]:
    return lambda topic: [sys.executable, "-c", code, topic]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "workers.json"


@pytest.fixture
async def allocator(record: Path) -> AsyncIterator[LocalAllocator]:
    made = LocalAllocator(program(WAITS), record)
    yield made
    await made.close()


async def test_topics_get_as_many_processes_as_wanted(allocator: LocalAllocator) -> None:
    assert not await allocator.allocate({"A": 2, "B": 1})
    assert await allocator.consumers(["A", "B", "C"]) == {"A": 2, "B": 1, "C": 0}


async def test_process_that_is_not_needed_gets_sigterm(allocator: LocalAllocator) -> None:
    await allocator.allocate({"A": 2})
    kept, ended = allocator.processes["A"]
    await allocator.allocate({"A": 1})
    assert allocator.processes["A"] == (kept,)
    until(lambda: not ended.running)
    assert kept.running


async def test_killed_worker_is_replaced(allocator: LocalAllocator) -> None:
    await allocator.allocate({"A": 1})
    [first] = allocator.processes["A"]
    first.signal(signal.SIGKILL)
    until(lambda: not first.running)
    assert await allocator.consumers(["A"]) == {"A": 0}


async def test_later_manager_finds_the_workers_of_one_that_was_killed(
    allocator: LocalAllocator, record: Path
) -> None:
    await allocator.allocate({"A": 2})
    later = LocalAllocator(program(WAITS), record)
    assert await later.consumers(["A"]) == {"A": 2}
    await later.allocate({"A": 1})
    until(lambda: sum(each.running for each in allocator.processes["A"]) == 1)


async def test_worker_that_dies_at_once_is_started_again_after_growing_pauses(
    record: Path,
) -> None:
    seconds = Seconds()
    allocator = LocalAllocator(program(DIES), record, seconds=seconds)
    starts = []
    for _ in range(200):
        troubles = await allocator.allocate({"A": 1})
        if found := allocator.processes["A"]:
            starts.append(seconds.now)
            until(lambda found=found: not found[0].running)  # type: ignore[misc]
        else:
            assert "its workers end soon after their start" in troubles[0]
        seconds.now += 0.5
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert gaps == sorted(gaps)
    assert len(starts) < 12
    await allocator.close()


async def test_program_that_does_not_exist_is_reported(record: Path) -> None:
    allocator = LocalAllocator(lambda _: ["/does/not/exist"], record)
    [trouble] = await allocator.allocate({"A": 1})
    assert trouble.startswith("A: a worker cannot be started")


async def test_close_ends_all_workers(allocator: LocalAllocator, record: Path) -> None:
    await allocator.allocate({"A": 2})
    processes = allocator.processes["A"]
    await allocator.close()
    assert not any(each.running for each in processes)
    assert read_record(record) == []


def test_damaged_record_has_no_workers(record: Path) -> None:
    record.write_bytes(b'[{"topic": "A"')
    assert read_record(record) == []
