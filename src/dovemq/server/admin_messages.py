"""Routes for the messages of a queue: to look at them, search, send, delete, show and move."""

import base64
import binascii
from http import HTTPStatus
from typing import Annotated, Final

from msgspec import Meta, Struct

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.commands import Draft, Duplicate, Peek, Peeked, Visibility
from dovemq.core.errors import BatchTooLong, InvalidMessageAttribute
from dovemq.core.message import Attribute
from dovemq.core.queue import Queue, QueueKey
from dovemq.core.sending import message_bytes, new_draft
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document, message_document
from dovemq.service.interventions import Intervention, MessagePlace

PEEK_DEFAULT: Final = 10
PEEK_STEP: Final = 16
"""Messages read at a time, so that a page of large messages is never all in memory."""
PEEK_BYTES_MAX: Final = 8 << 20
"""Size of bodies and attributes at which a page of messages ends early."""
SEARCHED_BYTES_MAX: Final = 32 << 20
"""Size of bodies and attributes at which a search ends early."""
SENT_COUNT_MAX: Final = 100
SENT_BODY_BYTES_MAX: Final = 4 << 20
"""Size of a request that sends messages, whose bytes may take several in JSON."""
SOUGHT_LENGTH_MAX: Final = 1_000
_SEQUENCE: Final = limits.Range(0, 2**63 - 1)
_PARTITION: Final = limits.Range(0, limits.PARTITIONS.most - 1)
_MESSAGES: Final = "/v1/queues/{account}/{name}/messages"
_PLACE: Final = _MESSAGES + "/{place}"
_OUTCOMES: Final = {
    Intervention.GONE: (
        "MessageMissing",
        "The queue has no message at this place, or has it no more.",
        HTTPStatus.NOT_FOUND,
    ),
    Intervention.VISIBLE: (
        "MessageVisible",
        "The message is visible already.",
        HTTPStatus.CONFLICT,
    ),
    Intervention.DELAYED: (
        "MessageDelayed",
        "The message is delayed; nobody has received it, so there is no lease to end.",
        HTTPStatus.CONFLICT,
    ),
    Intervention.LEASED: (
        "MessageLeased",
        "A consumer holds the message; end its lease first.",
        HTTPStatus.CONFLICT,
    ),
    Intervention.HOMELESS: (
        "OriginUnknown",
        "The message does not know the queue that it came from: name a target.",
        HTTPStatus.CONFLICT,
    ),
    Intervention.TARGET_MISSING: (
        "TargetInvalid",
        "The target does not exist, is this queue, or is not of the same type.",
        HTTPStatus.CONFLICT,
    ),
}


class NewAttribute(Struct, frozen=True, forbid_unknown_fields=True):
    """A message attribute: `value` for text and numbers, `base64` for the type Binary."""

    type: str
    value: str | None = None
    base64: str | None = None


class DraftedMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """A message to be sent; without `delay_ms` it gets the delay of the queue."""

    body: str
    attributes: dict[str, NewAttribute] = {}
    group: str | None = None
    deduplication_id: str | None = None
    delay_ms: Annotated[int, Meta(ge=0)] | None = None
    trace: str | None = None


class DraftedMessages(Struct, frozen=True, forbid_unknown_fields=True):
    messages: Annotated[list[DraftedMessage], Meta(min_length=1, max_length=SENT_COUNT_MAX)]


class MessageMove(Struct, frozen=True, forbid_unknown_fields=True):
    """The queue to move to, as ACCOUNT/NAME; null for the queue that the message came from."""

    target: str | None = None


@AdminRoute(
    "GET",
    _MESSAGES,
    Role.OPERATOR,
    query=("after", "limit", "contains", "visibility", "window"),
    own=True,
)
async def peek_messages(admin: AdminContext, call: AdminCall) -> Document:
    """Messages in order of their sequence, without receiving them.

    In a queue of several partitions `next` is SEQUENCE.PARTITION. With `contains` or `visibility`
    it looks at up to `window` messages, 1,000 by default, and returns those whose body, group, id
    or attributes contain the text, or that are visible, leased or delayed; `looked` is their
    number.
    """
    left = call.number("limit", PEEK_DEFAULT, limits.PEEK_COUNT)
    wanted = _filter(call)
    searching = bool(wanted.text or wanted.visibility)
    window = call.number("window", limits.PEEK_COUNT.most, limits.PEEK_COUNT)
    bytes_max = SEARCHED_BYTES_MAX if searching else PEEK_BYTES_MAX
    after, partition = _after(call)
    queue = await admin.service.queues.find(call.queue)
    documents: list[Document] = []
    looked = size = 0
    more = True
    while left > 0 and more and size < bytes_max and (not searching or looked < window):
        step = min(window - looked, PEEK_STEP) if searching else min(left, PEEK_STEP)
        page = await admin.service.messages.peek(queue, Peek(step, after, partition))
        more = len(page) == step
        for peeked in page:
            after, partition = peeked.message.sequence, peeked.partition
            looked += 1
            size += message_bytes(peeked.message.body, peeked.message.attributes)
            if wanted.holds(peeked):
                documents.append(message_document(peeked))
                left -= 1
                if left == 0:
                    more = more or peeked is not page[-1]
                    break
    following = f"{after}.{partition or 0}" if queue.settings.layout.highest else after
    found: Document = {"messages": documents, "next": following if more else None}
    return {**found, "looked": looked} if searching else found


@AdminRoute(
    "POST",
    _MESSAGES,
    Role.OPERATOR,
    body=DraftedMessages,
    body_bytes_max=SENT_BODY_BYTES_MAX,
    audited=True,
    unrecorded=("messages",),
    own=True,
)
async def send_messages(admin: AdminContext, call: AdminCall) -> Document:
    """Sends up to 100 messages, of 1 MiB in all; if one is invalid, none is sent."""
    queue = await admin.service.queues.find(call.queue)
    given: DraftedMessages = call.body
    drafts = [_draft(admin, call, queue, each) for each in given.messages]
    total = sum(message_bytes(draft.body, draft.attributes) for draft in drafts)
    if total > limits.BATCH_BYTES_MAX:
        raise BatchTooLong(total, limits.BATCH_BYTES_MAX)
    call.notes["messages"] = len(drafts)
    answers = await admin.service.messages.send(queue, drafts)
    return {
        "sent": [
            {
                "message_id": each.message_id,
                "sequence": each.sequence,
                "duplicate": isinstance(each, Duplicate),
            }
            for each in answers
        ]
    }


@AdminRoute("GET", _PLACE, Role.OPERATOR, own=True)
async def show_message(admin: AdminContext, call: AdminCall) -> Document:
    """One message by its place: SEQUENCE, or SEQUENCE.PARTITION; here and below."""
    queue = await admin.service.queues.find(call.queue)
    found = await admin.service.interventions.find(queue, _place(call))
    if found is None:
        raise AdminRefusal(*_OUTCOMES[Intervention.GONE])
    return message_document(found)


@AdminRoute("DELETE", _PLACE, Role.OPERATOR, audited=True, own=True)
async def delete_message(admin: AdminContext, call: AdminCall) -> Document:
    """Deletes one message, also one that a consumer holds."""
    queue = await admin.service.queues.find(call.queue)
    _check(await admin.service.interventions.delete(queue, _place(call)))
    return {"deleted": call.path["place"]}


@AdminRoute("POST", _PLACE + "/release", Role.OPERATOR, audited=True, own=True)
async def release_message(admin: AdminContext, call: AdminCall) -> Document:
    """Ends the lease of a message, so that it can be received at once."""
    queue = await admin.service.queues.find(call.queue)
    _check(await admin.service.interventions.show(queue, _place(call)))
    return {"released": call.path["place"]}


@AdminRoute("POST", _PLACE + "/move", Role.OPERATOR, body=MessageMove, audited=True, own=True)
async def move_message(admin: AdminContext, call: AdminCall) -> Document:
    """Moves one message to a queue of the same account, or back to the one that it came from."""
    queue = await admin.service.queues.find(call.queue)
    asked: MessageMove = call.body
    target = own_target(asked.target, call.queue)
    _check(await admin.service.interventions.move(queue, _place(call), target))
    return {"moved": call.path["place"]}


def own_target(text: str | None, source: QueueKey) -> QueueKey | None:
    """The queue that ACCOUNT/NAME names, which must have the account of the source."""
    if text is None:
        return None
    account, _, name = text.partition("/")
    if account != source.account or not name:
        raise AdminRefusal("TargetInvalid", f"The target must be {source.account}/NAME.")
    return QueueKey(account, name)


class _Filter(Struct, frozen=True):
    text: str
    visibility: str

    def holds(self, peeked: Peeked) -> bool:
        if self.visibility and peeked.visibility.value != self.visibility:
            return False
        return not self.text or any(self.text in each for each in _texts(peeked))


def _texts(peeked: Peeked) -> list[str]:
    message = peeked.message
    texts = [message.body, message.message_id, message.group or ""]
    for name, attribute in message.attributes.items():
        texts += (name, attribute.value if isinstance(attribute.value, str) else "")
    return texts


def _filter(call: AdminCall) -> _Filter:
    text, visibility = call.query.get("contains", ""), call.query.get("visibility", "")
    if len(text) > SOUGHT_LENGTH_MAX:
        raise AdminRefusal("InvalidValue", f"contains has at most {SOUGHT_LENGTH_MAX} characters.")
    states = [each.value for each in Visibility]
    if visibility and visibility not in states:
        raise AdminRefusal("InvalidValue", f"visibility must be one of {', '.join(states)}.")
    return _Filter(text, visibility)


def _after(call: AdminCall) -> tuple[int, int | None]:
    """The sequence after which a page begins, and the partition if there is one."""
    text, dot, partition = call.query.get("after", "").partition(".")
    sequence = call.number_of("after", text, 0, _SEQUENCE)
    if not dot:
        return sequence, None
    return sequence, call.number_of("after", partition or "-", 0, _PARTITION)


def _place(call: AdminCall) -> MessagePlace:
    text, _, partition = call.path["place"].partition(".")
    sequence = call.number_of("place", text or "-", 0, _SEQUENCE)
    return MessagePlace(sequence, call.number_of("place", partition, 0, _PARTITION))


def _check(outcome: Intervention) -> None:
    if outcome is not Intervention.DONE:
        raise AdminRefusal(*_OUTCOMES[outcome])


def _draft(admin: AdminContext, call: AdminCall, queue: Queue, given: DraftedMessage) -> Draft:
    return new_draft(
        queue,
        message_id=admin.new_id(),
        body=given.body,
        sender=call.own_account,
        delay_ms=given.delay_ms,
        attributes={name: _attribute(name, each) for name, each in given.attributes.items()},
        group=given.group,
        deduplication_id=given.deduplication_id,
        xray_header=given.trace,
    )


def _attribute(name: str, given: NewAttribute) -> Attribute:
    if given.base64 is None:
        return Attribute(given.type, given.value or "")
    try:
        return Attribute(given.type, base64.b64decode(given.base64, validate=True))
    except binascii.Error:
        raise InvalidMessageAttribute(f"Message attribute '{name}' is not base64.") from None
