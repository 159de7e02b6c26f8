"""Creates, changes, purges and removes queues."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final

import msgspec

from dovemq.core import errors, limits
from dovemq.core.commands import Counts
from dovemq.core.coordination import check_known
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import (
    Changes,
    Queue,
    QueueKey,
    QueueSettings,
    changed_settings,
    check_queue_name,
    settings_with,
)
from dovemq.service.accounts import Accounts
from dovemq.service.polls import Polls

DROP_COUNT_MAX: Final = 10_000
REPLACE_ATTEMPTS_MAX: Final = 100
BANS_MAX: Final = 10_000
QUEUES_AT_A_TIME: Final = 100
"""Queues visited before other tasks may run."""


class Bans:
    """Names that may not be used again for a while: AWS's rules of 60 seconds, if strict."""

    def __init__(self, ban_ms: int) -> None:
        self._ban_ms = ban_ms
        self._ends_ms: dict[str, int] = {}

    def start(self, name: str, now_ms: int) -> None:
        if not self._ban_ms:
            return
        self._ends_ms.pop(name, None)
        self._ends_ms[name] = now_ms + self._ban_ms
        while self._ends_ms:
            oldest = next(iter(self._ends_ms))
            if len(self._ends_ms) <= BANS_MAX and self._ends_ms[oldest] > now_ms:
                break
            del self._ends_ms[oldest]

    def banned(self, name: str, now_ms: int) -> bool:
        return self._ends_ms.get(name, 0) > now_ms


class Queues:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        observer: Observer,
        polls: Polls,
        accounts: Accounts,
        *,
        strict: bool,
    ) -> None:
        self._store = store
        self._observer = observer
        self._catalogue = store.catalogue
        self._clock = clock
        self._polls = polls
        self._accounts = accounts
        self._creating = asyncio.Lock()
        self._removed = Bans(limits.BAN_MS if strict else 0)
        self._purged = Bans(limits.BAN_MS if strict else 0)

    async def create(self, key: QueueKey, changes: Changes, tags: Mapping[str, str]) -> Queue:
        """Create a queue. An existing one is returned if it agrees with every given setting."""
        now_ms = self._clock.now_ms()
        fifo = bool(changes.get("fifo", False))
        check_queue_name(key.name, fifo=fifo)
        settings = settings_with(QueueSettings(fifo=fifo), changes)
        check_known(settings.coordination, self._store.coordinations)
        existing = await self._catalogue.find(key)
        if existing is None:
            if self._removed.banned(str(key), now_ms):
                raise errors.QueueDeletedRecently(limits.BAN_MS // limits.SECOND_MS)
            await self._check_redrive(key, settings)
            existing = await self._create(Queue(0, key, settings, now_ms, now_ms, dict(tags)))
        for name, value in changes.items():
            if getattr(existing.settings, name) != value:
                raise errors.QueueExists(key.name, name)
        return existing

    async def find(self, key: QueueKey) -> Queue:
        queue = await self._catalogue.find(key)
        if queue is None:
            raise errors.QueueMissing(str(key))
        return queue

    async def remove(self, key: QueueKey) -> None:
        queue = await self.find(key)
        await self._catalogue.remove(key)
        self._removed.start(str(key), self._clock.now_ms())
        self._observer.removed(queue)
        self._polls.wake_all(queue.number)

    async def page(
        self, account: str | None, prefix: str, after: str, count_max: int
    ) -> list[Queue]:
        return await self._catalogue.page(account, prefix, after, count_max)

    async def each(self, account: str | None = None) -> AsyncIterator[Queue]:
        """All queues, or those of an account, by key; other tasks run after each page."""
        after = ""
        while page := await self.page(account, "", after, QUEUES_AT_A_TIME):
            for queue in page:
                yield queue
            after = str(page[-1].key)
            await asyncio.sleep(0)

    async def change(
        self, key: QueueKey, changes: Changes | Callable[[QueueSettings], Changes]
    ) -> Queue:
        """Change settings. Polls look again, since a pause may have ended.

        A function gets the stored settings. It may be called again if another change came first.
        """

        async def edited(queue: Queue) -> Queue:
            wanted = changes(queue.settings) if callable(changes) else changes
            settings = changed_settings(queue.settings, wanted)
            if "redrive" in wanted:
                await self._check_redrive(key, settings)
            now_ms = self._clock.now_ms()
            return msgspec.structs.replace(queue, settings=settings, modified_ms=now_ms)

        queue = await self._replace(key, edited)
        self._store.partition(queue, 0)
        self._polls.wake_all(queue.number)
        return queue

    async def retag(self, key: QueueKey, add: Mapping[str, str], remove: Sequence[str]) -> None:
        async def edited(queue: Queue) -> Queue:
            tags = {**queue.tags, **add}
            for name in remove:
                tags.pop(name, None)
            return msgspec.structs.replace(queue, tags=tags)

        await self._replace(key, edited)

    async def counts(self, queue: Queue) -> Counts:
        return await self._store.partition(queue, 0).counts(self._clock.now_ms())

    async def purge(self, key: QueueKey) -> None:
        """Remove all messages sent until now, in bounded steps."""
        queue = await self.find(key)
        now_ms = self._clock.now_ms()
        if self._purged.banned(str(key), now_ms):
            raise errors.PurgeInProgress(key.name, limits.BAN_MS // limits.SECOND_MS)
        self._purged.start(str(key), now_ms)
        await self.drop(queue, now_ms + 1)

    async def drop_expired(self, queue: Queue) -> None:
        """Remove messages whose retention has ended, and free their space.

        Deduplication ids younger than the interval stay; the store drops such messages by itself.
        """
        age_ms = max(queue.settings.retention_ms, limits.DEDUPLICATION_MS)
        await self.drop(queue, self._clock.now_ms() - age_ms + 1)

    async def drop(self, queue: Queue, sent_before_ms: int) -> None:
        partition = self._store.partition(queue, 0)
        dropped = DROP_COUNT_MAX
        while dropped == DROP_COUNT_MAX:
            dropped = await partition.drop(sent_before_ms, DROP_COUNT_MAX, self._clock.now_ms())

    async def sources(self, key: QueueKey) -> list[Queue]:
        """The queues that send their dead letters here."""
        await self.find(key)
        return await self._catalogue.sources(key)

    async def _create(self, queue: Queue) -> Queue:
        account = queue.key.account
        queues_max = self._accounts.quotas(account).queues_max
        if queues_max is None:
            self._accounts.check_stays(account)
            return await self._catalogue.create(queue)
        # One at a time: two concurrent calls could both see the last free place.
        async with self._creating:
            owned = {each.key async for each in self.each(account)}
            if len(owned) >= queues_max and queue.key not in owned:
                raise errors.QuotaReached(account, "queues_max", queues_max, len(owned), 1)
            self._accounts.check_stays(account)
            return await self._catalogue.create(queue)

    async def _replace(self, key: QueueKey, edit: Callable[[Queue], Awaitable[Queue]]) -> Queue:
        """Apply `edit` and store the queue; repeat if another change came first."""
        for _ in range(REPLACE_ATTEMPTS_MAX):
            queue = await self._catalogue.latest(key)
            if queue is None:
                raise errors.QueueMissing(str(key))
            if await self._catalogue.replace(await edit(queue)):
                return await self.find(key)
        raise errors.InvariantError(f"queue {key} changed {REPLACE_ATTEMPTS_MAX} times in a row")

    async def _check_redrive(self, key: QueueKey, settings: QueueSettings) -> None:
        if settings.redrive is None:
            return
        if settings.redrive.target.account != key.account:
            raise errors.InvalidAttribute(
                "redrive", "Dead letter target owner should be same as the source."
            )
        target = await self._catalogue.find(settings.redrive.target)
        if target is None:
            raise errors.InvalidAttribute("redrive", "Dead letter target does not exist.")
        if not target.takes_dead_letters_of(key):
            raise errors.InvalidAttribute(
                "redrive", "The dead-letter queue does not allow this queue as a source."
            )
