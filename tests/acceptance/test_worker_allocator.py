"""Worker processes of this machine: started, ended, replaced, and found again."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from dovemq.system.process_ids import ProcessId, process_id
from dovemq.workflows.sizing.allocators.local import LocalAllocator
from dovemq.workflows.sizing.allocators.worker_record import (
    KeeperWatch,
    RecordedWorker,
    RecordedWorkers,
    RecordInUse,
    WorkerRecord,
    read_record,
)

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


def program(code: str) -> Callable[[str, int], Sequence[str]]:
    return lambda topic, _: [sys.executable, "-c", code, topic]


@pytest.fixture
def record(tmp_path: Path) -> Iterator[WorkerRecord]:
    record = WorkerRecord(tmp_path / "workers.json")
    yield record
    record.release()


@pytest.fixture
async def allocator(record: WorkerRecord) -> AsyncIterator[LocalAllocator]:
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


async def test_new_process_gets_the_least_place_that_is_free(record: WorkerRecord) -> None:
    places, seconds = [], Seconds()

    def command_of(topic: str, place: int) -> Sequence[str]:
        places.append(place)
        return [sys.executable, "-c", WAITS]

    allocator = LocalAllocator(command_of, record, seconds=seconds)
    await allocator.allocate({"A": 3})
    seconds.now += 60.0
    second = allocator.processes["A"][1]
    second.signal(signal.SIGKILL)
    until(lambda: not second.running)
    await allocator.allocate({"A": 3})
    await allocator.close()
    assert places == [0, 1, 2, 1]


async def test_killed_worker_is_replaced(allocator: LocalAllocator) -> None:
    await allocator.allocate({"A": 1})
    [first] = allocator.processes["A"]
    first.signal(signal.SIGKILL)
    until(lambda: not first.running)
    assert await allocator.consumers(["A"]) == {"A": 0}


async def test_later_manager_finds_the_workers_of_one_that_was_killed(
    allocator: LocalAllocator, record: WorkerRecord
) -> None:
    await allocator.allocate({"A": 2})
    record.release()
    later = LocalAllocator(program(WAITS), WorkerRecord(record.path))
    assert await later.consumers(["A"]) == {"A": 2}
    await later.allocate({"A": 1})
    until(lambda: sum(each.running for each in allocator.processes["A"]) == 1)


async def test_worker_that_dies_at_once_is_started_again_after_growing_pauses(
    record: WorkerRecord,
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


async def test_program_that_does_not_exist_is_reported(record: WorkerRecord) -> None:
    allocator = LocalAllocator(lambda *_: ["/does/not/exist"], record)
    [trouble] = await allocator.allocate({"A": 1})
    assert trouble.startswith("A: a worker cannot be started")


async def test_close_ends_all_workers(allocator: LocalAllocator, record: WorkerRecord) -> None:
    await allocator.allocate({"A": 2})
    processes = allocator.processes["A"]
    await allocator.close()
    assert not any(each.running for each in processes)
    assert read_record(record.path).workers == ()


def test_damaged_record_has_no_workers(record: WorkerRecord) -> None:
    record.path.write_bytes(b'{"workers": [{"topic": "A"')
    assert read_record(record.path).workers == ()


def test_two_managers_cannot_keep_workers_in_one_record(record: WorkerRecord) -> None:
    with pytest.raises(RecordInUse, match="another manager keeps its workers there"):
        WorkerRecord(record.path)


async def test_record_that_cannot_be_written_is_a_trouble_and_no_end(
    allocator: LocalAllocator, record: WorkerRecord
) -> None:
    fresh = record.path.with_suffix(".new")
    fresh.mkdir()
    [trouble] = await allocator.allocate({"A": 1})
    fresh.rmdir()
    assert "cannot be written" in trouble
    assert not await allocator.allocate({"A": 1})
    assert len(read_record(record.path).workers) == 1


def ended_process() -> ProcessId:
    with subprocess.Popen([sys.executable, "-c", WAITS]) as child:
        found = process_id(child.pid)
        child.kill()
    return found


def test_worker_is_kept_while_a_running_manager_names_it(record: WorkerRecord) -> None:
    me, seconds = process_id(os.getpid()), Seconds()
    watch = KeeperWatch(record.path, me, 60.0, seconds)
    record.write([RecordedWorker("A", me)])
    seconds.now += 1_000.0
    assert not watch.abandoned()
    seconds.now += 59.0
    record.write([])
    assert not watch.abandoned()
    record.write([RecordedWorker("A", me)])
    seconds.now += 59.0
    assert not watch.abandoned()


def test_worker_that_no_record_names_is_abandoned_after_a_while(record: WorkerRecord) -> None:
    seconds = Seconds()
    watch = KeeperWatch(record.path, process_id(os.getpid()), 60.0, seconds)
    record.write([RecordedWorker("A", ended_process())])
    seconds.now += 59.0
    assert not watch.abandoned()
    seconds.now += 1.0
    assert watch.abandoned()


def test_worker_whose_manager_was_killed_is_abandoned_until_another_comes(
    record: WorkerRecord,
) -> None:
    me, seconds = process_id(os.getpid()), Seconds()
    watch = KeeperWatch(record.path, me, 60.0, seconds)
    killed = RecordedWorkers(ended_process(), (RecordedWorker("A", me),))
    record.path.write_bytes(msgspec.json.encode(killed))
    seconds.now += 60.0
    assert watch.abandoned()
    LocalAllocator(program(WAITS), record)
    assert not watch.abandoned()
