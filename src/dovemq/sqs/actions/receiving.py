"""ReceiveMessage: the messages, and the attributes of each that the client asks for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dovemq.core import limits
from dovemq.core.errors import InvalidValue, UnknownAttribute
from dovemq.core.message import Attribute
from dovemq.core.queue import Queue, QueueKey
from dovemq.core.sending import check_token
from dovemq.service.attempts import Delivery
from dovemq.sqs import shapes
from dovemq.sqs.actions.sending import XRAY_HEADER, sequence_number
from dovemq.sqs.bounds import check_length
from dovemq.sqs.call import Call
from dovemq.sqs.digests import md5_of_attributes, md5_of_body

SYSTEM_ATTRIBUTES: Final = (
    "SenderId",
    "SentTimestamp",
    "ApproximateReceiveCount",
    "ApproximateFirstReceiveTimestamp",
    "SequenceNumber",
    "MessageDeduplicationId",
    "MessageGroupId",
    XRAY_HEADER,
    "DeadLetterQueueSourceArn",
)
_ALL: Final = "All"
_NONE: Final[frozenset[str]] = frozenset()
_EVERY: Final = frozenset(SYSTEM_ATTRIBUTES)
_ONLY_ALL: Final = [_ALL]
_NOTHING: Final = shapes.ReceiveMessageResponse()


async def receive_message(
    call: Call, request: shapes.ReceiveMessageRequest
) -> shapes.ReceiveMessageResponse:
    queue = await call.queue(request.queue_url)
    wanted = _NONE
    names = request.message_attribute_names
    chosen = attribute_filter(names) if names else None
    if request.attribute_names or request.message_system_attribute_names:
        wanted = _wanted_names(request, query=call.query)
    count_max = request.max_number_of_messages
    if count_max is None:
        count_max = 1
    elif not limits.RECEIVE_COUNT.holds(count_max):
        raise InvalidValue(
            "MaxNumberOfMessages", count_max, "Must be between 1 and 10, if provided."
        )
    lease_ms, wait_ms = request.visibility_timeout, request.wait_time_seconds
    if lease_ms is not None:
        lease_ms = checked_ms("VisibilityTimeout", lease_ms, limits.LEASE_MS)
    if wait_ms is not None:
        wait_ms = checked_ms("WaitTimeSeconds", wait_ms, limits.WAIT_MS)
    attempt_id = request.receive_request_attempt_id
    if attempt_id is not None:
        check_token("attempt_id", attempt_id)
    messages = call.service.messages
    deliveries = await messages.receive(queue, count_max, lease_ms, wait_ms, attempt_id, call.trail)
    if not deliveries:
        return _NOTHING
    call.undelivered = lambda: messages.release(queue, deliveries)
    return shapes.ReceiveMessageResponse(
        [_received(call, queue, delivery, wanted, chosen) for delivery in deliveries]
    )


def _received(
    call: Call,
    queue: Queue,
    delivery: Delivery,
    wanted: frozenset[str],
    chosen: Callable[[str], bool] | None,
) -> shapes.ReceivedMessage:
    message = delivery.lease.message
    shown: Mapping[str, Attribute] = {}
    if chosen is not None and message.attributes:
        shown = {name: each for name, each in message.attributes.items() if chosen(name)}
    return shapes.ReceivedMessage(
        message.message_id,
        delivery.receipt,
        md5_of_body(message.body),
        message.body,
        _system_attributes(call, queue, delivery, wanted) if wanted else {},
        md5_of_attributes(shown) if shown else None,
        {name: _wire_value(value) for name, value in shown.items()} if shown else {},
    )


def attribute_filter(names: Sequence[str]) -> Callable[[str], bool]:
    """Whether a message attribute is asked for: by name, `prefix.*`, `All`, `*` or `.*`."""
    if names[0] == _ALL and len(names) == 1:
        return _every
    check_length("MessageAttributeNames", names, limits.NAMES_LISTED_MAX)
    wanted = frozenset(names)
    prefixes = tuple(name.removesuffix(".*") for name in wanted if name.endswith(".*"))
    if _ALL in wanted or "*" in wanted or "" in prefixes:
        return _every
    return lambda name: name in wanted or name.startswith(prefixes)


def _every(_: str) -> bool:
    return True


def _wanted_names(request: shapes.ReceiveMessageRequest, *, query: bool) -> frozenset[str]:
    old, new = request.attribute_names, request.message_system_attribute_names
    if (old or new) == _ONLY_ALL and not (old and new):
        return _EVERY
    check_length("AttributeNames", old, limits.NAMES_LISTED_MAX)
    check_length("MessageSystemAttributeNames", new, limits.NAMES_LISTED_MAX)
    # Query ignores the new list if there is an old one; JSON takes both.
    names = frozenset(old or ()) | frozenset(() if query and old else new or ())
    for name in names:
        if name != _ALL and name not in SYSTEM_ATTRIBUTES:
            raise UnknownAttribute(name)
    return _EVERY if _ALL in names else names


def _system_attributes(
    call: Call, queue: Queue, delivery: Delivery, wanted: frozenset[str]
) -> dict[str, str]:
    lease = delivery.lease
    message = lease.message
    source = message.source
    values = {
        "SenderId": message.sender,
        "SentTimestamp": str(message.sent_ms),
        "ApproximateReceiveCount": str(lease.receive_count),
        "ApproximateFirstReceiveTimestamp": str(lease.first_received_ms),
        "SequenceNumber": sequence_number(message.sequence) if queue.settings.fifo else None,
        "MessageDeduplicationId": message.deduplication_id,
        "MessageGroupId": message.group,
        XRAY_HEADER: message.xray_header,
        "DeadLetterQueueSourceArn": call.names.arn(QueueKey.parse(source)) if source else None,
    }
    return {name: value for name, value in values.items() if value and name in wanted}


def _wire_value(attribute: Attribute) -> shapes.AttributeValue:
    value = attribute.value
    if isinstance(value, bytes):
        return shapes.AttributeValue(attribute.type, binary_value=value)
    return shapes.AttributeValue(attribute.type, string_value=value)


def checked_ms(name: str, seconds: int, allowed: limits.Range) -> int:
    """The parameter of that name in milliseconds."""
    if not allowed.holds(seconds * limits.SECOND_MS):
        most = allowed.most // limits.SECOND_MS
        raise InvalidValue(name, seconds, f"Must be >= 0 and <= {most}, if provided.")
    return seconds * limits.SECOND_MS
