"""Mutated requests of every operation: each gets an answer of its own, and none leaves a trace.

The table of answers is printed and written as JSON; DOVETEST_FUZZ_REPORT names the file.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from dovemq.bootstrap.serving import THREADS_ASIDE_MAX
from dovemq.testing.local_server import LocalServer
from tests.faults.fuzz_driver import CLOSED, OK, Fuzz, Tally
from tests.faults.fuzz_samples import SAMPLES

COUNT: Final = int(os.environ.get("DOVETEST_FUZZ", "20000"))
SEED: Final = int(os.environ.get("DOVETEST_FUZZ_SEED", "1"))
OPERATIONS: Final = 23
ERRORS_MIN: Final = 3
_WARM_UP: Final = 2_000
_MEMORY_BYTES_MORE: Final = 32 * 1024 * 1024
_LOOKS_MAX: Final = 100
_LOOK_SECONDS: Final = 0.2

pytestmark = pytest.mark.timeout(60 + COUNT // 50)


class Holdings(NamedTuple):
    """The files, threads, tasks and memory of a server."""

    descriptors: int
    threads: int
    tasks: int
    resident_bytes: int

    def within(self, before: "Holdings") -> bool:
        """Threads of the pool are made when they are first needed, and stay."""
        return (
            self.descriptors <= before.descriptors
            and self.tasks <= before.tasks
            and self.threads <= before.threads + THREADS_ASIDE_MAX
        )


class Watched:
    """A server whose tasks, files, threads and memory can be counted."""

    def __init__(self, place: Path) -> None:
        self._tasks_file = place / "tasks"
        self.server = LocalServer(
            place / "data",
            env={"TASKS_FILE": str(self._tasks_file)},
            command=(sys.executable, "-m", "tests.faults.watched_server"),
        )

    async def holdings(self) -> Holdings:
        process = Path(f"/proc/{self.server.pid}")
        lines = (process / "status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines)
        return Holdings(
            len(list((process / "fd").iterdir())),
            int(status["Threads"]),
            await self._tasks(),
            int(status["VmRSS"].split()[0]) * 1_024,
        )

    async def settled(self, before: Holdings) -> Holdings:
        """The counts once they are back to `before`, or the last ones."""
        for _ in range(_LOOKS_MAX):
            after = await self.holdings()
            if after.within(before):
                break
            await asyncio.sleep(_LOOK_SECONDS)
        return after

    async def _tasks(self) -> int:
        self._tasks_file.unlink(missing_ok=True)
        self.server.signal(signal.SIGUSR1)
        for _ in range(_LOOKS_MAX):
            if self._tasks_file.exists():
                return int(self._tasks_file.read_text())
            await asyncio.sleep(_LOOK_SECONDS)
        raise TimeoutError("the server does not answer SIGUSR1")


class Outcome(NamedTuple):
    tally: Tally
    before: Holdings
    after: Holdings
    log: str


async def fuzzed(watched: Watched) -> Outcome:
    server = watched.server
    idle = await watched.holdings()
    fuzz = Fuzz(server.endpoint_url, server.access_key, SEED)
    await fuzz.run(_WARM_UP)
    await fuzz.clear()
    before = await watched.settled(idle)
    tally = await fuzz.run(COUNT - _WARM_UP)
    await fuzz.clear()
    after = await watched.settled(idle)
    return Outcome(
        tally, idle._replace(resident_bytes=before.resident_bytes), after, server.log.read_text()
    )


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    place = tmp_path_factory.mktemp("fuzz")
    watched = Watched(place)
    with watched.server:
        found = asyncio.run(fuzzed(watched))
    report = Path(os.environ.get("DOVETEST_FUZZ_REPORT", place / "answers.json"))
    report.write_text(found.tally.as_json())
    print(f"{found.tally.as_table()}\nwritten to {report}\n{found.before}\n{found.after}")
    return found


def errors(tally: Tally, operation: str) -> set[str]:
    return tally.answers[operation].keys() - {OK, CLOSED}


def test_every_operation_succeeds_and_fails_in_its_own_ways(outcome: Outcome) -> None:
    assert len(SAMPLES) == OPERATIONS
    lacking = {
        operation: dict(codes)
        for operation, codes in outcome.tally.answers.items()
        if not codes[OK] or len(errors(outcome.tally, operation)) < ERRORS_MIN
    }
    assert lacking == {}


def test_at_least_half_of_the_requests_were_correctly_signed(outcome: Outcome) -> None:
    assert outcome.tally.total == COUNT
    assert outcome.tally.signed * 2 >= COUNT


def test_no_request_is_answered_with_an_internal_error(outcome: Outcome) -> None:
    internal = {
        (operation, code)
        for operation, codes in outcome.tally.answers.items()
        for code in codes
        if code.startswith("5")
    }
    assert internal == set()
    assert "Traceback" not in outcome.log


def test_descriptors_and_tasks_are_back_and_threads_stay_within_their_pool(
    outcome: Outcome,
) -> None:
    assert outcome.after.within(outcome.before), (outcome.before, outcome.after)


def test_memory_is_back_where_it_was_after_the_first_requests(outcome: Outcome) -> None:
    """Compares memory with a margin, since the allocator keeps partly used arenas."""
    assert outcome.after.resident_bytes <= outcome.before.resident_bytes + _MEMORY_BYTES_MORE
