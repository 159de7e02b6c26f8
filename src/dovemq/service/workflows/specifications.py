"""Stores specifications of workflows, version by version, and makes the queues of their topics."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dovemq.core.errors import Busy, LimitReached, WorkflowMissing
from dovemq.core.ledger import LedgerAsk, LedgerEntry
from dovemq.core.limits import SECOND_MS
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import QueueKey
from dovemq.core.workflows.reading import read_specification
from dovemq.core.workflows.specification import TYPE_NAME, VERSIONS, TopicSpec, WorkflowSpec
from dovemq.service.queues import Queues

NEWEST_KIND: Final = "workflow"
VERSION_KIND: Final = "version"
KNOWN_MAX: Final = 1_000
"""Versions that are held in memory; they never change."""
_ATTEMPTS_MAX: Final = 20
_PAGE: Final = 100


class WorkflowSpecs:
    def __init__(self, store: Store, clock: Clock, queues: Queues) -> None:
        self._store = store
        self._clock = clock
        self._queues = queues
        self._known: dict[tuple[str, str, int], WorkflowSpec] = {}

    async def put(self, account: str, type_: str, content: Mapping[str, Any]) -> WorkflowSpec:
        """Store a specification as a new version, unless it says the same as the newest one.

        The version is stored before it becomes the newest. If a call ends between the two, the next
        one makes it the newest, or goes on with the next number.
        """
        wanted = read_specification(type_, content)
        for topic in wanted.topics:
            await self.ensure_topic(account, topic)
        for _ in range(_ATTEMPTS_MAX):
            held = await self._store.ledger.get(NEWEST_KIND, _newest_name(account, type_))
            newest = _decoded(held) if held else None
            if newest is not None and newest.same_as(wanted):
                return newest
            number = newest.version + 1 if newest else 1
            stored = await self._stored(account, wanted, number)
            if stored is None:
                continue
            entry = LedgerEntry(
                NEWEST_KIND,
                _newest_name(account, type_),
                msgspec.json.encode(stored),
                type=type_,
                version=held.version if held else 0,
            )
            if await self._store.ledger.put(entry) and stored.same_as(wanted):
                return stored
        raise Busy(f"Others change the workflow {type_}")

    async def newest(self, account: str, type_: str) -> WorkflowSpec:
        held = None
        if TYPE_NAME.fullmatch(type_):
            held = await self._store.ledger.get(NEWEST_KIND, _newest_name(account, type_))
        if held is None:
            raise WorkflowMissing(account, type_)
        return _decoded(held)

    async def version(self, account: str, type_: str, number: int) -> WorkflowSpec:
        key = (account, type_, number)
        known = self._known.get(key)
        if known is None and TYPE_NAME.fullmatch(type_):
            held = await self._store.ledger.get(VERSION_KIND, _version_name(*key))
            if held is not None:
                known = self._known[key] = _decoded(held)
                while len(self._known) > KNOWN_MAX:
                    del self._known[next(iter(self._known))]
        if known is None:
            raise WorkflowMissing(account, type_, number)
        return known

    async def listing(self, account: str) -> list[WorkflowSpec]:
        """The newest version of each type, by name."""
        found: list[WorkflowSpec] = []
        after: str | None = ""
        while after is not None:
            ask = LedgerAsk(NEWEST_KIND, _PAGE, f"{account}/", after)
            page = await self._store.ledger.page(ask)
            found += map(_decoded, page.entries)
            after = page.next
        return found

    async def ensure_topic(self, account: str, topic: TopicSpec) -> None:
        """Create the queues of a topic, or give its queue the lease of the specification."""
        key = QueueKey(account, topic.queue)
        lease_ms = topic.lease_seconds * SECOND_MS
        existing = await self._store.catalogue.find(key)
        if existing is None:
            existing = await self._queues.create(key, {}, {})
        if existing.settings.lease_ms != lease_ms:
            await self._queues.change(key, {"lease_ms": lease_ms})
        dead = QueueKey(account, topic.dead_queue)
        if await self._store.catalogue.find(dead) is None:
            await self._queues.create(dead, {}, {})

    async def _stored(self, account: str, wanted: WorkflowSpec, number: int) -> WorkflowSpec | None:
        """The specification that has this number now; None if that cannot be known."""
        if not VERSIONS.holds(number):
            raise LimitReached(f"A workflow has at most {VERSIONS.most} versions.")
        now_ms = self._clock.now_ms()
        spec = msgspec.structs.replace(wanted, version=number, created_ms=now_ms)
        name = _version_name(account, spec.type, number)
        entry = LedgerEntry(VERSION_KIND, name, msgspec.json.encode(spec), type=spec.type)
        if await self._store.ledger.put(entry):
            return spec
        held = await self._store.ledger.get(VERSION_KIND, name)
        return _decoded(held) if held else None


def _decoded(entry: LedgerEntry) -> WorkflowSpec:
    return msgspec.json.decode(entry.value, type=WorkflowSpec)


def _newest_name(account: str, type_: str) -> str:
    return f"{account}/{type_}"


def _version_name(account: str, type_: str, number: int) -> str:
    return f"{account}/{type_}/{number:06}"
