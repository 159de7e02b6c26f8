"""The bound on jobs that have ended: the newest of each account are kept."""

import pytest

from dovemq.core.ledger import LedgerAsk, LedgerEntry
from dovemq.core.workflows.jobs import Job, JobState, Publication, encode_job
from dovemq.service.workflows.jobs import JOB_KIND
from dovemq.service.workflows.trimming import PAGE, PAGES_MAX, REST_MS, JobTrimmer
from dovemq.stores.memory_ledger import MemoryLedger
from dovemq.testing.clock import ManualClock

KEPT = 3


class Kept:
    def __init__(self) -> None:
        self.ledger = MemoryLedger(lambda: None, {})
        self.clock = ManualClock(1_000_000)
        self.trimmer = JobTrimmer(self.ledger, self.clock, JOB_KIND, KEPT)

    async def add(
        self, account: str, number: int, state: JobState, outbox: tuple[Publication, ...] = ()
    ) -> None:
        """A smaller number is a newer job, as in the ids of jobs."""
        name = f"{number:06}"
        job = Job(name, account, "x", 1, 0, 0, (), state, outbox=outbox)
        entry = LedgerEntry(JOB_KIND, f"{account}/{name}", encode_job(job), state.value, "x")
        assert await self.ledger.put(entry)

    async def names(self) -> list[str]:
        page = await self.ledger.page(LedgerAsk(JOB_KIND, 1_000))
        return [entry.name for entry in page.entries]


@pytest.fixture
def kept() -> Kept:
    return Kept()


async def test_newest_ended_jobs_of_each_account_are_kept(kept: Kept) -> None:
    states = (JobState.ENDED, JobState.FAILED, JobState.CANCELLED)
    for number in range(6):
        await kept.add("1", number, states[number % 3])
    for number in range(2):
        await kept.add("2", number, JobState.ENDED)
    assert await kept.trimmer.step() == 3
    assert await kept.names() == ["1/000000", "1/000001", "1/000002", "2/000000", "2/000001"]


async def test_running_jobs_stay_and_do_not_count(kept: Kept) -> None:
    for number in range(8):
        await kept.add("1", number, JobState.RUNNING if number % 2 else JobState.ENDED)
    assert await kept.trimmer.step() == 1
    assert await kept.names() == [f"1/{number:06}" for number in (0, 1, 2, 3, 4, 5, 7)]


async def test_job_whose_dead_letter_is_not_sent_yet_stays(kept: Kept) -> None:
    waiting = (Publication("A", 1, 0, dead=True),)
    for number in range(5):
        await kept.add("1", number, JobState.FAILED, waiting if number == 4 else ())
    assert await kept.trimmer.step() == 1
    assert "1/000004" in await kept.names()


async def test_walk_goes_on_at_the_next_step_and_rests_at_its_end(kept: Kept) -> None:
    count = PAGE * PAGES_MAX + 10
    for number in range(count):
        await kept.add("1", number, JobState.ENDED)
    first = await kept.trimmer.step()
    assert first == PAGE * PAGES_MAX - KEPT
    assert await kept.trimmer.step() == count - KEPT - first
    await kept.add("1", count, JobState.ENDED)
    assert await kept.trimmer.step() == 0
    kept.clock.advance(REST_MS)
    assert await kept.trimmer.step() == 1
