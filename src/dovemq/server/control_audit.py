"""Actions of the controller of queues in the audit log: how they are written and found.

Their entries have no account, no key and no peer: the service itself has acted.
"""

from collections.abc import Callable
from typing import Final

from dovemq.core.queue import QueueKey
from dovemq.fabric.autonomic import ActionKind
from dovemq.fabric.controlling import ControlRecord
from dovemq.server.audit import AuditLog, Document
from dovemq.service.audit import OK, AuditEntry, bounded

LOOKED_MAX: Final = 1_000
"""The newest entries of the audit log among which the actions of a queue are looked for."""
FOUND_MAX: Final = 10
_NAMES: Final = {kind: f"{kind.value} partition" for kind in ActionKind}


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


async def control_actions(audit: AuditLog, queue: QueueKey | None) -> list[Document]:
    """The newest actions of the controller on a queue, or on all, the newest first."""
    entries = await audit.page(None, LOOKED_MAX)
    found = [
        {"ts": each["ts"], "action": each["action"], "queue": each["target"], **each["details"]}
        for each in entries
        if each["action"] in _NAMES.values() and (queue is None or each["target"] == str(queue))
    ]
    return found[: -FOUND_MAX - 1 : -1]
