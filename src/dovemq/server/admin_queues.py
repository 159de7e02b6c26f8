"""Routes for queues: list, show, explain, create, change, purge and remove."""

import contextlib
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.errors import InvalidAttribute, UnknownAttribute
from dovemq.core.queue import RANGES, Queue
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
    queue_document,
)
from dovemq.sqs.actions.queues import check_tags
from dovemq.sqs.arns import QueueNames
from dovemq.sqs.attributes import CHOICES, SETTABLE, QueueAttribute, read_changes, written
from dovemq.sqs.faults import text_of
from dovemq.telemetry.meter import QueueTally


class NewQueue(Struct, frozen=True, forbid_unknown_fields=True):
    """Attributes by their names in SQS, with values as text."""

    attributes: dict[str, str] = {}
    tags: dict[str, str] = {}


class QueueChanges(Struct, frozen=True, forbid_unknown_fields=True):
    attributes: Annotated[dict[str, str], Meta(min_length=1)]


@AdminRoute("GET", "/v1/attributes", None)
async def list_attributes(admin: AdminContext, call: AdminCall) -> Document:
    """The attributes of queues that can be set, with their forms, choices and ranges."""
    return {"attributes": [_attribute_document(each) for each in SETTABLE]}


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
    sources = await admin.service.queues.sources(queue.key)
    return {
        **document,
        "attributes": _attributes(admin, queue),
        "sources": [str(each.key) for each in sources],
        "dequeue": dequeue_document(queue, tally),
    }


@AdminRoute("GET", "/v1/queues/{account}/{name}/explanation", Role.VIEWER, own=True)
async def explain_queue(admin: AdminContext, call: AdminCall) -> Document:
    """Why a queue has its partitions: clients, load, capacity, exchanges, and the last changes.

    The view and the audit log are those of the front end that is asked; the one that leads decides.
    """
    queue = await admin.service.queues.find(call.queue)
    if admin.explain is None:
        raise AdminRefusal("NotExplained", "This server does not know the load of its queues.")
    explanation: Document = msgspec.to_builtins(await admin.explain(queue))
    return {
        **explanation,
        "flows": msgspec.to_builtins(admin.metrics.flows(queue) if admin.metrics else []),
        "owners": await _owners(admin, queue),
        "actions": await admin.control_actions.newest(queue.key),
    }


async def _owners(admin: AdminContext, queue: Queue) -> Document:
    """The front ends that own the partitions of a queue, where several share a store."""
    if admin.cluster is None:
        return {}
    places = (await admin.cluster_status.current(admin.now_ms))["partitions"]
    name = str(queue.key)
    return {str(each["partition"]): each["front_end"] for each in places if each["queue"] == name}


@AdminRoute("PUT", "/v1/queues/{account}/{name}", Role.ADMIN, body=NewQueue, audited=True, own=True)
async def create_queue(admin: AdminContext, call: AdminCall) -> Document:
    """Creates a queue with the attributes of SQS; an equal one that exists is returned."""
    wanted: NewQueue = call.body
    key = call.queue
    admin.service.accounts.get(key.account)
    fifo = wanted.attributes.get("FifoQueue", "").lower() == "true" or key.fifo
    attributes = {**wanted.attributes, "FifoQueue": "true"} if fifo else wanted.attributes
    check_tags(wanted.tags)
    with _wire_names():
        changes = read_changes(
            attributes, QueueNames(admin.region), key.account, fifo=fifo, creating=True
        )
        queue = await admin.service.queues.create(key, changes, wanted.tags)
    return queue_document(queue, await admin.service.queues.counts(queue))


@AdminRoute(
    "PATCH", "/v1/queues/{account}/{name}", Role.ADMIN, body=QueueChanges, audited=True, own=True
)
async def change_queue(admin: AdminContext, call: AdminCall) -> Document:
    """Changes the given attributes of a queue; if one is invalid, none is changed."""
    wanted: QueueChanges = call.body
    queue = await admin.service.queues.find(call.queue)
    with _wire_names():
        changes = read_changes(
            wanted.attributes,
            QueueNames(admin.region),
            queue.key.account,
            fifo=queue.settings.fifo,
            creating=False,
        )
        changed = await admin.service.queues.change(queue.key, changes)
    return {"attributes": _attributes(admin, changed)}


@AdminRoute("DELETE", "/v1/queues/{account}/{name}", Role.ADMIN, audited=True, own=True)
async def remove_queue(admin: AdminContext, call: AdminCall) -> Document:
    """Removes a queue with its messages."""
    await admin.service.queues.remove(call.queue)
    return {"removed": str(call.queue)}


@AdminRoute("DELETE", "/v1/queues/{account}/{name}/messages", Role.ADMIN, audited=True, own=True)
async def purge_queue(admin: AdminContext, call: AdminCall) -> Document:
    """Deletes all messages of a queue."""
    await admin.service.queues.purge(call.queue)
    return {"purged": str(call.queue)}


def _attributes(admin: AdminContext, queue: Queue) -> Document:
    """The attributes that can be set, as they are on the wire."""
    names = QueueNames(admin.region)
    found = {each.name: written(each.name, queue, names, None) for each in SETTABLE}
    return {name: value for name, value in found.items() if value is not None}


def _attribute_document(attribute: QueueAttribute) -> Document:
    allowed = RANGES.get(attribute.field)
    unit = limits.SECOND_MS if attribute.form == "seconds" else 1
    return {
        "name": attribute.name,
        "form": attribute.form,
        "fifo": attribute.fifo,
        "extended": attribute.extended,
        "choices": list(CHOICES.get(attribute.field, ())),
        "least": allowed.least // unit if allowed else None,
        "most": allowed.most // unit if allowed else None,
    }


@contextlib.contextmanager
def _wire_names() -> Iterator[None]:
    """Errors about attributes use the names that the request has."""
    try:
        yield
    except (InvalidAttribute, UnknownAttribute) as error:
        raise AdminRefusal("InvalidAttribute", text_of(error, query=False)) from None
