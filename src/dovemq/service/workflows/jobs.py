"""Jobs: they are submitted, read and changed. Each change is one compare-and-set.

A change is stored with its publications in the job's outbox; then they are sent to the queues of
their topics and marked as done. Whoever stores a change sends what that change has added. What a
crash leaves behind, the review of the sweeper sends.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dovemq.core.errors import Busy, InvalidValue, JobMissing
from dovemq.core.ledger import LedgerAsk, LedgerEntry
from dovemq.core.limits import DAY_MS
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.core.workflows.jobs import INPUT_BYTES_MAX, Job, decode_job, encode_job
from dovemq.core.workflows.specification import TYPE_NAME, WorkflowSpec
from dovemq.core.workflows.transitions import Event, Published, advance, due_ms, new_job
from dovemq.service.workflows.publishing import TopicPublisher
from dovemq.service.workflows.specifications import WorkflowSpecs

JOB_KIND: Final = "job"
KEY_KIND: Final = "key"
KEY_LENGTH_MAX: Final = 256
KEY_KEPT_MS: Final = DAY_MS
CHANGES_MAX: Final = 50
"""Compare-and-sets of one change; others have written in between each time."""
JOB_ID: Final = re.compile(r"[0-9A-Za-z]{1,64}", re.ASCII)
_NEWEST: Final = (1 << 44) - 1
_RANDOM_DIGITS: Final = 9


class WorkflowJobs:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        new_id: Callable[[], str],
        specs: WorkflowSpecs,
        publisher: TopicPublisher,
        observer: Observer,
    ) -> None:
        self._ledger = store.ledger
        self._clock = clock
        self._new_id = new_id
        self._specs = specs
        self._publisher = publisher
        self._observer = observer

    async def submit(self, account: str, type_: str, content: Any, key: str | None = None) -> Job:
        """Start a job. The same key within a day gives the job that it gave first."""
        size = len(msgspec.json.encode(content))
        if size > INPUT_BYTES_MAX:
            text = f"at most {INPUT_BYTES_MAX}; store more elsewhere and give its name."
            raise InvalidValue("input", f"of {size} bytes", text)
        spec = await self._specs.newest(account, type_)
        job_id = self._new_job_id()
        if key is not None:
            job_id = await self._id_of_key(account, type_, key, job_id)
            held = await self._ledger.get(JOB_KIND, _name(account, job_id))
            if held is not None:
                return decode_job(held.value)
        job = new_job(spec, job_id, account, content, self._clock.now_ms())
        entry = _entry(job, spec)
        if not await self._ledger.put(entry):
            # Another request with the same key came first.
            return await self.job(account, job_id)
        self._observer.job_changed(None, job)
        return await self._sent(job, spec, entry.version + 1, job)

    async def job(self, account: str, job_id: str) -> Job:
        return (await self._find(account, job_id))[0]

    async def spec_of(self, job: Job) -> WorkflowSpec:
        return await self._specs.version(job.account, job.type, job.version)

    async def page(
        self,
        account: str,
        type_: str | None,
        state: str | None,
        after: str,
        count_max: int,
    ) -> tuple[list[Job], str | None]:
        """Jobs of an account, the newest first, after the job of this id."""
        if after and not JOB_ID.fullmatch(after):
            raise InvalidValue("after", "given", "the `next` of a page is needed.")
        if type_ is not None and not TYPE_NAME.fullmatch(type_):
            raise InvalidValue("type", "given", "it is no name of a type of jobs.")
        start = _name(account, after)
        ask = LedgerAsk(JOB_KIND, count_max, _name(account, ""), start, state, type_)
        page = await self._ledger.page(ask)
        following = page.next.rpartition("/")[2] if page.next else None
        return [decode_job(entry.value) for entry in page.entries], following

    async def change(self, account: str, job_id: str, event: Event) -> tuple[Job, bool]:
        """The job after the event, and whether the event has changed it."""
        for _ in range(CHANGES_MAX):
            job, version = await self._find(account, job_id)
            spec = await self.spec_of(job)
            changed = advance(job, event, spec, self._clock.now_ms())
            if changed is job:
                return job, False
            if await self._ledger.put(_entry(changed, spec, version)):
                self._observer.job_changed(job, changed)
                return await self._sent(job, spec, version + 1, changed), True
        raise Busy(f"Others change job {job_id}")

    async def _sent(self, before: Job, spec: WorkflowSpec, version: int, job: Job) -> Job:
        """Send what a stored change has added to the outbox, and mark it as done."""
        known = () if before is job else before.outbox
        added = [each for each in job.outbox if each not in known]
        sent = await self._publisher.publish(job, spec, added) if added else ()
        if not sent:
            return job
        event = Published(sent)
        marked = advance(job, event, spec, self._clock.now_ms())
        if await self._ledger.put(_entry(marked, spec, version)):
            return marked
        return (await self.change(job.account, job.job_id, event))[0]

    async def _find(self, account: str, job_id: str) -> tuple[Job, int]:
        held = None
        if JOB_ID.fullmatch(job_id):
            held = await self._ledger.get(JOB_KIND, _name(account, job_id))
        if held is None:
            raise JobMissing(job_id)
        return decode_job(held.value), held.version

    async def _id_of_key(self, account: str, type_: str, key: str, job_id: str) -> str:
        """The id that this key gave first, or this one from now on."""
        if not 0 < len(key) <= KEY_LENGTH_MAX:
            text = f"1 to {KEY_LENGTH_MAX} characters are needed."
            raise InvalidValue("key", f"of {len(key)} characters", text)
        name = f"{account}/{type_}/{hashlib.sha256(key.encode()).hexdigest()}"
        due = self._clock.now_ms() + KEY_KEPT_MS
        entry = LedgerEntry(KEY_KIND, name, job_id.encode(), type=type_, due_ms=due)
        if await self._ledger.put(entry):
            return job_id
        held = await self._ledger.get(KEY_KIND, name)
        return held.value.decode() if held else job_id

    def _new_job_id(self) -> str:
        """Ids of later jobs come before those of earlier ones, so that pages begin with them."""
        digits = self._new_id().replace("-", "")[:_RANDOM_DIGITS]
        return f"{_NEWEST - self._clock.now_ms():011x}{digits}"


def _entry(job: Job, spec: WorkflowSpec, version: int = 0) -> LedgerEntry:
    return LedgerEntry(
        JOB_KIND,
        _name(job.account, job.job_id),
        encode_job(job),
        job.state.value,
        job.type,
        due_ms(job, spec),
        version,
    )


def _name(account: str, job_id: str) -> str:
    return f"{account}/{job_id}"
