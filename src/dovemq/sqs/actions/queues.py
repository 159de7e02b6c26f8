"""Operations on whole queues: create, find, list, change, purge, delete, tag."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from dovemq.core import errors, limits
from dovemq.core.queue import Queue, QueueKey
from dovemq.sqs import shapes
from dovemq.sqs.attributes import COUNTED, asked_names, read_changes, wire_name_of, written
from dovemq.sqs.bounds import check_length, checked_count
from dovemq.sqs.call import Call
from dovemq.sqs.errors import ParameterInvalid
from dovemq.sqs.roles import RIGHTS, announced_role


async def create_queue(call: Call, request: shapes.CreateQueueRequest) -> shapes.QueueUrlResponse:
    if not request.queue_name:
        raise errors.MissingValue("QueueName")
    attributes = request.attributes or {}
    fifo = attributes.get("FifoQueue", "").lower() == "true"
    changes = read_changes(attributes, call.names, call.account, fifo=fifo, creating=True)
    tags = request.tags or {}
    check_tags(tags)
    key = QueueKey(call.account, request.queue_name)
    try:
        queue = await call.service.queues.create(key, changes, tags)
    except errors.InvalidAttribute as error:
        raise _policy_error(error, attributes) from None
    return shapes.QueueUrlResponse(call.url(queue.key))


async def get_queue_url(call: Call, request: shapes.GetQueueUrlRequest) -> shapes.QueueUrlResponse:
    if not request.queue_name:
        raise errors.MissingValue("QueueName")
    key = QueueKey(request.queue_owner_account or call.account, request.queue_name)
    role = announced_role(call.request)
    try:
        queue = await call.find(key)
    except errors.QueueDenied:
        if key.account == call.account:
            raise
        raise errors.QueueMissing(str(key)) from None
    if role is not None:
        await call.service.join(await call.find(key, RIGHTS[role]), role)
    return shapes.QueueUrlResponse(call.url(queue.key))


async def list_queues(call: Call, request: shapes.ListQueuesRequest) -> shapes.ListQueuesResponse:
    count_max = page_size(request.max_results)
    queues = await call.service.queues.page(
        call.account,
        request.queue_name_prefix or "",
        read_token(request.next_token),
        count_max + 1,
    )
    return shapes.ListQueuesResponse(*_page(call, queues, request.max_results))


async def list_dead_letter_source_queues(
    call: Call, request: shapes.ListDeadLetterSourceQueuesRequest
) -> shapes.ListDeadLetterSourceQueuesResponse:
    queue = await call.queue(request.queue_url)
    after = read_token(request.next_token)
    sources = [
        each
        for each in await call.service.queues.sources(queue.key)
        if str(each.key) > after
        and (each.key.account == call.account or call.allows(each, "GetQueueUrl"))
    ]
    return shapes.ListDeadLetterSourceQueuesResponse(*_page(call, sources, request.max_results))


def _page(
    call: Call, queues: Sequence[Queue], max_results: int | None
) -> tuple[list[str], str | None]:
    """The URLs of the first queues, and the token of the next page if there is one."""
    page = queues[: page_size(max_results)]
    more = len(queues) > len(page) and max_results is not None
    return [call.url(queue.key) for queue in page], write_token(str(page[-1].key)) if more else None


async def delete_queue(call: Call, request: shapes.DeleteQueueRequest) -> None:
    queue = await call.queue(request.queue_url)
    await call.service.queues.remove(queue.key)


async def purge_queue(call: Call, request: shapes.PurgeQueueRequest) -> None:
    queue = await call.queue(request.queue_url)
    await call.service.queues.purge(queue.key)


async def get_queue_attributes(
    call: Call, request: shapes.GetQueueAttributesRequest
) -> shapes.GetQueueAttributesResponse:
    queue = await call.queue(request.queue_url)
    asked = asked_names(request.attribute_names or ())
    counted = not asked.keys().isdisjoint(COUNTED)
    counts = await call.service.queues.counts(queue) if counted else None
    values = {name: written(name, queue, call.names, counts) for name in asked}
    return shapes.GetQueueAttributesResponse(
        {name: value for name, value in values.items() if value is not None}
    )


async def set_queue_attributes(call: Call, request: shapes.SetQueueAttributesRequest) -> None:
    queue = await call.queue(request.queue_url)
    attributes = request.attributes
    if not attributes:
        raise errors.MissingValue("Attributes")
    changes = read_changes(
        attributes, call.names, queue.key.account, fifo=queue.settings.fifo, creating=False
    )
    try:
        await call.service.queues.change(queue.key, changes)
    except errors.InvalidAttribute as error:
        raise _policy_error(error, attributes) from None


async def tag_queue(call: Call, request: shapes.TagQueueRequest) -> None:
    queue = await call.queue(request.queue_url)
    if not request.tags:
        raise errors.MissingValue("Tags")
    check_tags({**queue.tags, **request.tags})
    await call.service.queues.retag(queue.key, request.tags, ())


async def untag_queue(call: Call, request: shapes.UntagQueueRequest) -> None:
    queue = await call.queue(request.queue_url)
    if not request.tag_keys:
        raise errors.MissingValue("TagKeys")
    check_length("TagKeys", request.tag_keys, limits.TAGS_MAX)
    await call.service.queues.retag(queue.key, {}, request.tag_keys)


async def list_queue_tags(
    call: Call, request: shapes.ListQueueTagsRequest
) -> shapes.ListQueueTagsResponse:
    queue = await call.queue(request.queue_url)
    return shapes.ListQueueTagsResponse(dict(queue.tags))


def check_tags(tags: Mapping[str, str]) -> None:
    if len(tags) > limits.TAGS_MAX:
        raise ParameterInvalid(f"Too many tags: {len(tags)}. A queue can have {limits.TAGS_MAX}.")
    for name, value in tags.items():
        if not limits.TAG_KEY_LENGTH.holds(len(name)):
            raise errors.InvalidValue("TagKey", name, "Tag keys are 1 to 128 characters long.")
        if not limits.TAG_VALUE_LENGTH.holds(len(value)):
            raise errors.InvalidValue(
                "TagValue", value, "Tag values are up to 256 characters long."
            )
        if name.lower().startswith("aws:"):
            raise errors.InvalidValue("TagKey", name, "The prefix aws: is reserved.")


def page_size(max_results: int | None) -> int:
    allowed = limits.QUEUES_LISTED
    return checked_count("MaxResults", max_results, allowed.most, allowed)


def write_token(last: str) -> str:
    return base64.urlsafe_b64encode(last.encode()).decode()


def read_token(token: str | None) -> str:
    if not token:
        return ""
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise ParameterInvalid("Invalid or expired next token.") from None


def _policy_error(error: errors.InvalidAttribute, attributes: Mapping[str, str]) -> Exception:
    """SQS refuses redrive policies as parameters, with their text, and other attributes by name."""
    name = wire_name_of(error.field)
    given: Any = attributes.get(name)
    if error.field in ("redrive", "redrive_allow") and given is not None:
        return errors.InvalidValue(name, given, error.reason)
    return error
