"""A client of any SQS endpoint, over AWS JSON 1.0."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final, TypeVar, Unpack

import msgspec

from dovemq.client.connection import ClientResponse
from dovemq.client.errors import AnswerMalformed, Refused
from dovemq.client.session import (
    ANSWER_SECONDS_MAX,
    RequestForm,
    SessionClient,
    SessionOptions,
    SignedSession,
)
from dovemq.core.access import AccessKey
from dovemq.fabric.autonomic import ClientRole
from dovemq.sqs import shapes
from dovemq.sqs.owning import ALL, QueueOwner
from dovemq.sqs.roles import ROLE_HEADER

PURGE_SECONDS_MAX: Final = 600.0
TOO_LARGE_STATUS: Final = 413
"""The answer of proxies to a request that is too large, with a body of their own."""

REPEATABLE: Final = frozenset(
    {
        "ChangeMessageVisibility",
        "ChangeMessageVisibilityBatch",
        "CreateQueue",
        "DeleteMessage",
        "DeleteMessageBatch",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "ListMessageMoveTasks",
        "ListQueueTags",
        "ListQueues",
        "ReceiveMessage",
        "SetQueueAttributes",
        "TagQueue",
        "UntagQueue",
    }
)
"""Operations that may be repeated safely. Sends are not among them."""

T = TypeVar("T")


class SqsClient(SessionClient, QueueOwner):
    """A client of one SQS endpoint.

    A queue is given by its URL. DoveMQ's own server takes NAME and ACCOUNT/NAME as well.
    """

    def __init__(
        self,
        endpoint_url: str,
        key: AccessKey | None = None,
        *,
        session_token: str | None = None,
        answer_seconds_max: float = ANSWER_SECONDS_MAX,
        **options: Unpack[SessionOptions],
    ) -> None:
        """`session_token` belongs to temporary keys of AWS.

        `answer_seconds_max` applies to operations without a longer limit of their own.
        """
        self._session = SignedSession(endpoint_url, key, service="sqs", **options)
        self._answer_seconds_max = answer_seconds_max
        self._forms: dict[str, RequestForm] = {}
        self._decoders: dict[type, msgspec.json.Decoder[Any]] = {}
        self._encode = msgspec.json.Encoder().encode
        self._headers = {"content-type": "application/x-amz-json-1.0"}
        if session_token:
            self._headers["x-amz-security-token"] = session_token

    async def call(
        self, operation: str, params: Mapping[str, Any], seconds_max: float | None = None
    ) -> dict[str, Any]:
        """Call an operation with parameters by their names on the wire."""
        answer: dict[str, Any] = await self._asked(operation, params, dict, seconds_max)
        return answer

    async def queue_url(self, queue: str) -> str:
        """The URL of a queue that is given by NAME, ACCOUNT/NAME or URL."""
        if "://" in queue:
            return queue
        if "/" in queue:
            return f"{self._session.url.rstrip('/')}/{queue.strip('/')}"
        request = shapes.GetQueueUrlRequest(queue)
        return (await self._ask(request, shapes.QueueUrlResponse)).queue_url

    async def join(self, queue: str, role: ClientRole) -> str:
        """Announce the role in which this connection uses a queue; returns the queue's URL.

        The queue is given by NAME, ACCOUNT/NAME or URL. Other servers ignore the role.
        """
        *_, account, name = "", *queue.rstrip("/").split("/")
        request = shapes.GetQueueUrlRequest(name, account or None)
        operation = shapes.operation_of(type(request))
        headers = self._headers | {"x-amz-target": f"AmazonSQS.{operation}"}
        form = self._session.form("POST", "/", headers | {ROLE_HEADER: role.value})
        answer = await self._session.ask(
            form, self._encode(request), seconds_max=self._answer_seconds_max, repeatable=True
        )
        return self._decoded(answer, shapes.QueueUrlResponse).queue_url

    async def untag(self, queue: str, names: Sequence[str]) -> None:
        await self._ask(shapes.UntagQueueRequest(queue, list(names)), shapes.Empty)

    async def purge(self, queue: str) -> None:
        await self._ask(shapes.PurgeQueueRequest(queue), shapes.Empty, PURGE_SECONDS_MAX)

    async def delete_queue(self, queue: str) -> None:
        await self._ask(shapes.DeleteQueueRequest(queue), shapes.Empty)

    async def send(
        self, queue: str, message: shapes.SendMessageRequest
    ) -> shapes.SendMessageResponse:
        request = msgspec.structs.replace(message, queue_url=queue)
        return await self._ask(request, shapes.SendMessageResponse)

    def signed_send(self, queue: str, message: shapes.SendMessageRequest) -> bytes:
        """The bytes of a signed send, for `send_signed` before the signature expires."""
        request = msgspec.structs.replace(message, queue_url=queue)
        return self._session.signed(self._form("SendMessage"), self._encode(request))

    async def send_signed(self, request: bytes) -> shapes.SendMessageResponse:
        answer = await self._session.ask_signed(request, self._answer_seconds_max)
        return self._decoded(answer, shapes.SendMessageResponse)

    async def send_batch(
        self, queue: str, entries: Sequence[shapes.SendEntry]
    ) -> shapes.SendMessageBatchResponse:
        request = shapes.SendMessageBatchRequest(queue, list(entries))
        return await self._ask(request, shapes.SendMessageBatchResponse)

    async def receive(
        self,
        queue: str,
        count_max: int = 1,
        *,
        wait_seconds: int | None = None,
        lease_seconds: int | None = None,
        names: Sequence[str] = ALL,
        attribute_names: Sequence[str] = ALL,
    ) -> list[shapes.ReceivedMessage]:
        """Receive messages with the given system attributes (`names`) and message attributes."""
        system_names = list(names) or None
        request = shapes.ReceiveMessageRequest(
            queue,
            # The older name too, for servers that do not know the newer one.
            attribute_names=system_names,
            message_system_attribute_names=system_names,
            message_attribute_names=list(attribute_names) or None,
            max_number_of_messages=count_max,
            visibility_timeout=lease_seconds,
            wait_time_seconds=wait_seconds,
        )
        return (await self._ask(request, shapes.ReceiveMessageResponse)).messages

    async def settle(self, queue: str, receipt: str) -> None:
        await self._ask(shapes.DeleteMessageRequest(queue, receipt), shapes.Empty)

    async def settle_batch(self, queue: str, receipts: Sequence[str]) -> shapes.BatchResponse:
        entries = [shapes.DeleteEntry(str(place), text) for place, text in enumerate(receipts)]
        request = shapes.DeleteMessageBatchRequest(queue, entries)
        return await self._ask(request, shapes.BatchResponse)

    async def extend(self, queue: str, receipt: str, lease_seconds: int) -> None:
        request = shapes.ChangeMessageVisibilityRequest(queue, receipt, lease_seconds)
        await self._ask(request, shapes.Empty)

    async def extend_batch(
        self, queue: str, receipts: Sequence[str], lease_seconds: int
    ) -> shapes.BatchResponse:
        entries = [
            shapes.VisibilityEntry(str(place), text, lease_seconds)
            for place, text in enumerate(receipts)
        ]
        request = shapes.ChangeMessageVisibilityBatchRequest(queue, entries)
        return await self._ask(request, shapes.BatchResponse)

    async def start_move(
        self, source_arn: str, target_arn: str | None, rate_per_second: int | None
    ) -> str:
        request = shapes.StartMessageMoveTaskRequest(source_arn, target_arn, rate_per_second)
        answer = await self._ask(request, shapes.StartMessageMoveTaskResponse)
        return answer.task_handle

    async def moves(self, source_arn: str, count_max: int = 10) -> list[shapes.MoveTask]:
        """The move tasks of a queue, newest first."""
        request = shapes.ListMessageMoveTasksRequest(source_arn, count_max)
        answer = await self._ask(request, shapes.ListMessageMoveTasksResponse)
        return [] if answer.results is msgspec.UNSET else answer.results

    async def cancel_move(self, task_handle: str) -> int:
        """Cancel a task. The result is the number of messages that it has moved."""
        request = shapes.CancelMessageMoveTaskRequest(task_handle)
        answer = await self._ask(request, shapes.CancelMessageMoveTaskResponse)
        return answer.approximate_number_of_messages_moved

    def _ask(
        self, request: shapes.Shape, shape: type[T], seconds_max: float | None = None
    ) -> Awaitable[T]:
        return self._asked(shapes.operation_of(type(request)), request, shape, seconds_max)

    async def _asked(
        self, operation: str, request: object, shape: type[T], seconds_max: float | None
    ) -> T:
        answer = await self._session.ask(
            self._form(operation),
            self._encode(request),
            seconds_max=seconds_max or self._answer_seconds_max,
            repeatable=operation in REPEATABLE,
        )
        return self._decoded(answer, shape)

    def _form(self, operation: str) -> RequestForm:
        form = self._forms.get(operation)
        if form is None:
            target = {"x-amz-target": f"AmazonSQS.{operation}"}
            form = self._forms[operation] = self._session.form("POST", "/", self._headers | target)
        return form

    def _decoded(self, answer: ClientResponse, shape: type[T]) -> T:
        if answer.status != 200:
            raise _refusal(self._session.url, answer)
        decoder = self._decoders.get(shape)
        if decoder is None:
            decoder = self._decoders[shape] = msgspec.json.Decoder(shape)
        try:
            decoded: T = decoder.decode(answer.body or b"{}")
        except msgspec.DecodeError as error:
            raise AnswerMalformed(self._session.url, f"unreadable answer: {error}") from None
        return decoded


class _Fault(msgspec.Struct):
    type: str = msgspec.field(default="", name="__type")
    message: str = ""
    detail: str = ""


def _refusal(url: str, answer: ClientResponse) -> Exception:
    try:
        fault = msgspec.json.decode(answer.body, type=_Fault)
    except msgspec.DecodeError:
        if answer.status == TOO_LARGE_STATUS:
            return Refused(answer.status, "RequestEntityTooLarge", answer.outline, "")
        return AnswerMalformed(url, answer.outline)
    code = answer.headers.get("x-amzn-query-error", "").partition(";")[0]
    code = code or fault.type.rpartition("#")[2] or str(answer.status)
    request_id = answer.headers.get("x-amzn-requestid", "")
    return Refused(answer.status, code, fault.message, request_id, fault.detail)
