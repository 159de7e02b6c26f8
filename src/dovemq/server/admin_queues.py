"""Routes for queues and their messages."""

from typing import Final

import msgspec

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.commands import Peek
from dovemq.core.sending import message_bytes
from dovemq.server.admin_context import (
    PAGE_DEFAULT,
    AdminCall,
    AdminContext,
    AdminRefusal,
    AdminRoute,
)
from dovemq.server.admin_views import (
    Document,
    dequeue_document,
    message_document,
    queue_document,
)
from dovemq.server.control_audit import control_actions
from dovemq.telemetry.meter import QueueTally

PEEK_DEFAULT: Final = 10
PEEK_STEP: Final = 16
"""Messages read at a time, so that a page of large messages is never all in memory."""
PEEK_BYTES_MAX: Final = 8 << 20
"""Size of bodies and attributes at which a page of messages ends early."""
_SEQUENCE: Final = limits.Range(0, 2**63 - 1)
_PARTITION: Final = limits.Range(0, limits.PARTITIONS.most - 1)


@AdminRoute("GET", "/v1/queues", Role.VIEWER, query=("prefix", "after", "limit"), own=True)
async def list_queues(admin: AdminContext, call: AdminCall) -> Document:
    """Queues by account and name, with settings and counts; without a role one's own."""
    count_max = call.number("limit", PAGE_DEFAULT, limits.QUEUES_LISTED)
    queues = admin.service.queues
    assert call.caller is not None
    account = None if call.caller.account.role else call.own_account
    page = await queues.page(
        account, call.query.get("prefix", ""), call.query.get("after", ""), count_max
    )
    documents = [queue_document(queue, await queues.counts(queue)) for queue in page]
    return {"queues": documents, "next": str(page[-1].key) if len(page) == count_max else None}


@AdminRoute("GET", "/v1/queues/{account}/{name}", Role.VIEWER, own=True)
async def show_queue(admin: AdminContext, call: AdminCall) -> Document:
    """One queue with settings, counts, partitions and what its receives cost."""
    queue = await admin.service.queues.find(call.queue)
    document = queue_document(queue, await admin.service.queues.counts(queue))
    tally = admin.metrics.tally(queue) if admin.metrics else QueueTally(queue.key)
    return {**document, "dequeue": dequeue_document(queue, tally)}


@AdminRoute("GET", "/v1/queues/{account}/{name}/explanation", Role.VIEWER, own=True)
async def explain_queue(admin: AdminContext, call: AdminCall) -> Document:
    """Why a queue has its partitions: their clients, load and capacity, and the last changes.

    The view and the audit log are those of the front end that is asked; the one that leads decides.
    """
    queue = await admin.service.queues.find(call.queue)
    if admin.explain is None:
        raise AdminRefusal("NotExplained", "This server does not know the load of its queues.")
    explanation: Document = msgspec.to_builtins(await admin.explain(queue))
    return {**explanation, "actions": await control_actions(admin.audit, queue.key)}


@AdminRoute(
    "GET", "/v1/queues/{account}/{name}/messages", Role.OPERATOR, query=("after", "limit"), own=True
)
async def peek_messages(admin: AdminContext, call: AdminCall) -> Document:
    """Messages in order of their sequence, without receiving them.

    In a queue of several partitions `next` is SEQUENCE.PARTITION.
    """
    left = call.number("limit", PEEK_DEFAULT, limits.PEEK_COUNT)
    after, partition = _after(call)
    queue = await admin.service.queues.find(call.queue)
    documents: list[Document] = []
    size = 0
    more = True
    while left and more and size < PEEK_BYTES_MAX:
        step = min(left, PEEK_STEP)
        page = await admin.service.messages.peek(queue, Peek(step, after, partition))
        for peeked in page:
            documents.append(message_document(peeked))
            size += message_bytes(peeked.message.body, peeked.message.attributes)
        more = len(page) == step
        left -= len(page)
        if page:
            after, partition = page[-1].message.sequence, page[-1].partition
    following = f"{after}.{partition or 0}" if queue.settings.layout.highest else after
    return {"messages": documents, "next": following if more else None}


def _after(call: AdminCall) -> tuple[int, int | None]:
    """The sequence after which a page begins, and the partition if there is one."""
    text, dot, partition = call.query.get("after", "").partition(".")
    sequence = call.number_of("after", text, 0, _SEQUENCE)
    if not dot:
        return sequence, None
    return sequence, call.number_of("after", partition or "-", 0, _PARTITION)


@AdminRoute("DELETE", "/v1/queues/{account}/{name}/messages", Role.ADMIN, audited=True, own=True)
async def purge_queue(admin: AdminContext, call: AdminCall) -> Document:
    """Deletes all messages of a queue."""
    await admin.service.queues.purge(call.queue)
    return {"purged": str(call.queue)}
