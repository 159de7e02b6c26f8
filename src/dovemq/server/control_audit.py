"""Changes that the service itself makes to queues, in the audit log: written and found.

Actions of the controller of partitions, and changes of an adaptive order hint. Their entries have
no account, no key and no peer: the service itself has acted.
"""

import asyncio
import collections
import itertools
import logging
from collections.abc import Callable, Iterator
from typing import Final

from dovemq.core.adaptive_hint import HintDecision
from dovemq.core.errors import DoveError
from dovemq.core.queue import QueueKey
from dovemq.fabric.autonomic import ActionKind
from dovemq.fabric.controlling import ControlRecord
from dovemq.server.audit import AuditLog, Document
from dovemq.service.audit import OK, AuditEntry, bounded

log = logging.getLogger(__name__)

LOOKED_MAX: Final = 1_000
"""The newest entries of the audit log among which the actions of a queue are looked for."""
FOUND_MAX: Final = 10
HINT_ACTION: Final = "adapt order hint"
_PENDING_MAX: Final = 1_000
"""Changes of order hints that wait for the disk; further ones are only logged."""
_NAMES: Final = {kind: f"{kind.value} partition" for kind in ActionKind}
_ACTIONS: Final = frozenset((*_NAMES.values(), HINT_ACTION))


class ControlAudit:
    """Implements `fabric.controlling.ControlRecorder`. `new_id` makes ids for the entries."""

    def __init__(self, audit: AuditLog, new_id: Callable[[], str]) -> None:
        self._audit = audit
        self._new_id = new_id

    def check(self) -> None:
        self._audit.check()

    async def record(self, record: ControlRecord) -> None:
        action = record.action
        details = {
            "partition": action.partition,
            "partitions": record.partitions,
            "rule": action.reason.rule,
            "reason": action.reason.text,
            "numbers": dict(action.reason.numbers),
        }
        await self._audit.add(
            AuditEntry(
                at_ms=record.at_ms,
                request_id=self._new_id(),
                account=None,
                key_id=None,
                peer="",
                action=_NAMES[action.kind],
                target=str(record.queue),
                outcome=OK,
                details=bounded(details),
            )
        )


class HintAudit:
    """Implements `core.hint_meters.HintRecorder`: changes are written in the background."""

    def __init__(self, audit: AuditLog, new_id: Callable[[], str]) -> None:
        self._audit = audit
        self._new_id = new_id
        self._writing: set[asyncio.Task[None]] = set()

    def record(self, queue: QueueKey, decision: HintDecision, now_ms: int) -> None:
        log.info("queue %s: order hint %d: %s", queue, decision.k, decision.reason.text)
        if len(self._writing) >= _PENDING_MAX:
            return
        task = asyncio.get_running_loop().create_task(self._add(queue, decision, now_ms))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def close(self) -> None:
        """Waits until all changes are written."""
        await asyncio.gather(*self._writing)

    async def _add(self, queue: QueueKey, decision: HintDecision, now_ms: int) -> None:
        reason = decision.reason
        details = {
            "before": decision.before,
            "order_hint": decision.k,
            "rule": reason.cause.value,
            "reason": reason.text,
            "numbers": dict(reason.numbers),
        }
        entry = AuditEntry(
            at_ms=now_ms,
            request_id=self._new_id(),
            account=None,
            key_id=None,
            peer="",
            action=HINT_ACTION,
            target=str(queue),
            outcome=OK,
            details=bounded(details),
        )
        try:
            await self._audit.add(entry)
        except DoveError as error:
            log.warning("queue %s: its order hint changed without an audit: %s", queue, error)


class ControlActions:
    """The changes among the newest entries of the audit log, in memory for all who ask.

    The log is read when it has entries that were not read yet, by one at a time.
    """

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._read_to: int | None = None
        self._entries: collections.deque[Document] = collections.deque(maxlen=LOOKED_MAX)
        self._reading = asyncio.Lock()

    async def newest(self, queue: QueueKey | None) -> list[Document]:
        """The newest actions on a queue, or on all, the newest first."""
        async with self._reading:
            if self._read_to != self._audit.last_sequence:
                await self._read()
        return list(itertools.islice(self._actions(queue), FOUND_MAX))

    async def _read(self) -> None:
        entries = await self._audit.page(self._read_to, LOOKED_MAX)
        while entries:
            self._entries.extend(entries)
            self._read_to = int(entries[-1]["sequence"])
            full = len(entries) == LOOKED_MAX and self._read_to < self._audit.last_sequence
            entries = await self._audit.page(self._read_to, LOOKED_MAX) if full else []

    def _actions(self, queue: QueueKey | None) -> Iterator[Document]:
        for each in reversed(self._entries):
            wanted = queue is None or each["target"] == str(queue)
            if wanted and each["action"] in _ACTIONS:
                named = {"ts": each["ts"], "action": each["action"], "queue": each["target"]}
                yield {**named, **each["details"]}
