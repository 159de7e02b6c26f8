"""The regular review of jobs: repairs after crashes, lost tasks, and the end of those kept.

One front end does it for all. It looks at the entries that are due, a bounded number at a time.
"""

import logging
from typing import Final

from dovemq.core.errors import DoveError, JobMissing
from dovemq.core.ledger import LedgerEntry
from dovemq.core.ports import Clock, Store
from dovemq.core.workflows.jobs import JobState, decode_job
from dovemq.core.workflows.transitions import Reviewed
from dovemq.service.recent import RECENT_KIND
from dovemq.service.workflows.jobs import JOB_KIND, KEY_KIND, WorkflowJobs
from dovemq.service.workflows.trimming import ENDED_KEPT_MAX, JobTrimmer

log = logging.getLogger(__name__)

DUE_COUNT_MAX: Final = 100
ROUNDS_MAX: Final = 100
"""Pages of due entries in one sweep; what is left waits for the next one."""


class WorkflowSweeper:
    def __init__(
        self, store: Store, clock: Clock, jobs: WorkflowJobs, kept_max: int = ENDED_KEPT_MAX
    ) -> None:
        self._ledger = store.ledger
        self._clock = clock
        self._jobs = jobs
        self._trimmer = JobTrimmer(store.ledger, clock, JOB_KIND, kept_max)

    async def sweep(self) -> int:
        """Review what is due; returns the number of entries that were looked at."""
        looked = 0
        for kind in (JOB_KIND, KEY_KIND, RECENT_KIND):
            for _ in range(ROUNDS_MAX):
                found = await self._ledger.due(kind, self._clock.now_ms(), DUE_COUNT_MAX)
                done = [await self._review(entry) for entry in found]
                looked += len(found)
                if len(found) < DUE_COUNT_MAX or not all(done):
                    break
        await self._trimmer.step()
        return looked

    async def _review(self, entry: LedgerEntry) -> bool:
        """Whether the entry is not due any more."""
        try:
            if entry.kind != JOB_KIND:
                return await self._ledger.remove(entry)
            job = decode_job(entry.value)
            if job.state is not JobState.RUNNING and not job.outbox:
                return await self._ledger.remove(entry)
            await self._jobs.change(job.account, job.job_id, Reviewed())
        except JobMissing:
            return True
        except DoveError as error:
            log.warning("the review of %s failed: %s", entry.name, error)
            return False
        return True
