"""The requests and responses of the 23 operations, field by field under their wire names.

Every field of a request may be absent here: the actions check which are required and what they may
hold, because SQS has errors of its own for that. Responses leave out empty lists and maps.
"""

from typing import Final

from msgspec import UNSET, Struct, UnsetType, field

_ACRONYMS: Final = {"md5": "MD5", "aws": "AWS", "sse": "SSE"}


def wire_name(name: str) -> str:
    """`md5_of_body` → `MD5OfBody`."""
    return "".join(_ACRONYMS.get(word, word.capitalize()) for word in name.split("_"))


class Shape(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """A structure of the wire."""


def operation_of(request: type[Shape]) -> str:
    return request.__name__.removesuffix("Request")


class AttributeValue(Shape, frozen=True):
    data_type: str | None = None
    string_value: str | None = None
    binary_value: bytes | None = None
    string_list_values: list[str] | None = None
    binary_list_values: list[bytes] | None = None


class QueueRequest(Shape, frozen=True):
    """The part that all requests about one queue share."""

    queue_url: str | None = None


class CreateQueueRequest(Shape, frozen=True):
    queue_name: str | None = None
    attributes: dict[str, str] | None = None
    tags: dict[str, str] | None = field(default=None, name="tags")


class QueueUrlResponse(Shape, frozen=True):
    """The response of CreateQueue and of GetQueueUrl."""

    queue_url: str


class GetQueueUrlRequest(Shape, frozen=True):
    queue_name: str | None = None
    queue_owner_account: str | None = field(default=None, name="QueueOwnerAWSAccountId")


class ListQueuesRequest(Shape, frozen=True):
    queue_name_prefix: str | None = None
    next_token: str | None = None
    max_results: int | None = None


class ListQueuesResponse(Shape, frozen=True):
    queue_urls: list[str] = []
    next_token: str | None = None


class DeleteQueueRequest(QueueRequest, frozen=True):
    pass


class PurgeQueueRequest(QueueRequest, frozen=True):
    pass


class GetQueueAttributesRequest(QueueRequest, frozen=True):
    attribute_names: list[str] | None = None


class GetQueueAttributesResponse(Shape, frozen=True):
    attributes: dict[str, str] = {}


class SetQueueAttributesRequest(QueueRequest, frozen=True):
    attributes: dict[str, str] | None = None


class AddPermissionRequest(QueueRequest, frozen=True):
    label: str | None = None
    account_ids: list[str] | None = field(default=None, name="AWSAccountIds")
    actions: list[str] | None = None


class RemovePermissionRequest(QueueRequest, frozen=True):
    label: str | None = None


class TagQueueRequest(QueueRequest, frozen=True):
    tags: dict[str, str] | None = None


class UntagQueueRequest(QueueRequest, frozen=True):
    tag_keys: list[str] | None = None


class ListQueueTagsRequest(QueueRequest, frozen=True):
    pass


class ListQueueTagsResponse(Shape, frozen=True):
    tags: dict[str, str] = {}


class ListDeadLetterSourceQueuesRequest(QueueRequest, frozen=True):
    next_token: str | None = None
    max_results: int | None = None


class ListDeadLetterSourceQueuesResponse(Shape, frozen=True):
    # Unlike all other lists of the protocol, this one is present when it is empty.
    queue_urls: list[str] | UnsetType = field(default=UNSET, name="queueUrls")
    next_token: str | None = None


class NewMessage(Shape, frozen=True):
    """A message to be sent, alone or in a batch."""

    message_body: str | None = None
    delay_seconds: int | None = None
    message_attributes: dict[str, AttributeValue] | None = None
    message_system_attributes: dict[str, AttributeValue] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessageRequest(NewMessage, frozen=True):
    queue_url: str | None = None


class SendMessageResponse(Shape, frozen=True):
    md5_of_message_body: str
    message_id: str
    md5_of_message_attributes: str | None = None
    md5_of_message_system_attributes: str | None = None
    sequence_number: str | None = None


class SendEntry(NewMessage, frozen=True):
    id: str | None = None


class SendMessageBatchRequest(QueueRequest, frozen=True):
    entries: list[SendEntry] | None = None


class SentEntry(SendMessageResponse, frozen=True, kw_only=True):
    id: str


class FailedEntry(Shape, frozen=True):
    id: str
    code: str
    message: str
    sender_fault: bool


class SendMessageBatchResponse(Shape, frozen=True):
    successful: list[SentEntry] = []
    failed: list[FailedEntry] = []


class DoneEntry(Shape, frozen=True):
    id: str


class BatchResponse(Shape, frozen=True):
    successful: list[DoneEntry] = []
    failed: list[FailedEntry] = []


class ReceiveMessageRequest(QueueRequest, frozen=True):
    attribute_names: list[str] | None = None
    message_system_attribute_names: list[str] | None = None
    message_attribute_names: list[str] | None = None
    max_number_of_messages: int | None = None
    visibility_timeout: int | None = None
    wait_time_seconds: int | None = None
    receive_request_attempt_id: str | None = None


class ReceivedMessage(Shape, frozen=True):
    message_id: str
    receipt_handle: str
    md5_of_body: str
    body: str
    attributes: dict[str, str] = {}
    md5_of_message_attributes: str | None = None
    message_attributes: dict[str, AttributeValue] = {}


class ReceiveMessageResponse(Shape, frozen=True):
    messages: list[ReceivedMessage] = []


class DeleteMessageRequest(QueueRequest, frozen=True):
    receipt_handle: str | None = None


class DeleteEntry(Shape, frozen=True):
    id: str | None = None
    receipt_handle: str | None = None


class DeleteMessageBatchRequest(QueueRequest, frozen=True):
    entries: list[DeleteEntry] | None = None


class ChangeMessageVisibilityRequest(DeleteMessageRequest, frozen=True):
    visibility_timeout: int | None = None


class VisibilityEntry(DeleteEntry, frozen=True):
    visibility_timeout: int | None = None


class ChangeMessageVisibilityBatchRequest(QueueRequest, frozen=True):
    entries: list[VisibilityEntry] | None = None


class StartMessageMoveTaskRequest(Shape, frozen=True):
    source_arn: str | None = None
    destination_arn: str | None = None
    max_number_of_messages_per_second: int | None = None


class StartMessageMoveTaskResponse(Shape, frozen=True):
    task_handle: str


class ListMessageMoveTasksRequest(Shape, frozen=True):
    source_arn: str | None = None
    max_results: int | None = None


class MoveTask(Shape, frozen=True):
    status: str
    source_arn: str
    started_timestamp: int
    approximate_number_of_messages_moved: int | UnsetType = UNSET
    approximate_number_of_messages_to_move: int | UnsetType = UNSET
    task_handle: str | None = None
    destination_arn: str | None = None
    max_number_of_messages_per_second: int | None = None
    failure_reason: str | None = None


class ListMessageMoveTasksResponse(Shape, frozen=True):
    results: list[MoveTask] | UnsetType = UNSET


class CancelMessageMoveTaskRequest(Shape, frozen=True):
    task_handle: str | None = None


class CancelMessageMoveTaskResponse(Shape, frozen=True):
    approximate_number_of_messages_moved: int


class Empty(Shape, frozen=True):
    """The response of operations that return nothing."""
