"""Applies a file of declared queues: creates those that are missing, changes those that differ.

Nothing is deleted: queues, attributes and tags that the file does not name do not change.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.errors import DoveError, RequestError
from dovemq.service import Service
from dovemq.settings import DeclarationInvalid
from dovemq.sqs import shapes
from dovemq.sqs.arns import QueueNames
from dovemq.sqs.authorisation import Judge
from dovemq.sqs.call import Call
from dovemq.sqs.declared import (
    DEAD_LETTERS,
    REDRIVE_POLICY,
    DeadLetters,
    DeclaredQueue,
    same_value,
)
from dovemq.sqs.faults import text_of
from dovemq.sqs.operations import OPERATIONS
from dovemq.sqs.owning import QueueOwner

T = TypeVar("T")


class DeclarationResult(Struct, frozen=True):
    """The names of the queues, in the order of the file."""

    created: list[str]
    changed: list[str]
    unchanged: list[str]


class ServiceOwner(QueueOwner):
    """The queues of one account of a service in this process."""

    def __init__(
        self, service: Service, region: str, account: str, new_id: Callable[[], str]
    ) -> None:
        names = QueueNames(region)
        self._call = Call(service, names, Judge(names), new_id, account, origin="", request=None)

    async def _ask(
        self, request: shapes.Shape, shape: type[T], seconds_max: float | None = None
    ) -> T:
        operation = OPERATIONS[shapes.operation_of(type(request))]
        return cast(T, await operation.act(self._call, request))


async def declare(
    queues: Sequence[DeclaredQueue],
    owner: QueueOwner,
    file: str,
    refusal: type[DoveError] = RequestError,
) -> DeclarationResult:
    """Create or change the queues. A second run changes nothing.

    `refusal` is the error by which the owner refuses a request. Dead-letter queues are set after
    all queues exist, so that the order of the file does not matter.
    """
    there = {queue.name for queue in queues if await _exists(owner, queue.name)}
    names = {queue.name for queue in queues}
    changed: set[str] = set()
    for queue in queues:
        letters = queue.dead_letters
        if letters and letters.queue not in names and not await _exists(owner, letters.queue):
            place = f"{file}: queue {queue.name}: {DEAD_LETTERS}"
            raise DeclarationInvalid(place, f"there is no queue {letters.queue}", "declare it too")
    for queue in queues:
        with _placed(f"{file}: queue {queue.name}", refusal):
            if queue.name not in there:
                await owner.create_queue(queue.name, queue.attributes, queue.tags)
            elif await _changed(owner, queue.name, queue.attributes) | await _tagged(owner, queue):
                changed.add(queue.name)
    for queue in queues:
        if queue.dead_letters:
            redrive = {REDRIVE_POLICY: await _policy(owner, queue.dead_letters)}
            with _placed(f"{file}: queue {queue.name}: {DEAD_LETTERS}", refusal):
                if await _changed(owner, queue.name, redrive):
                    changed.add(queue.name)
    return DeclarationResult(
        [queue.name for queue in queues if queue.name not in there],
        [queue.name for queue in queues if queue.name in there & changed],
        [queue.name for queue in queues if queue.name in there - changed],
    )


async def _exists(owner: QueueOwner, name: str) -> bool:
    """A queue is the first of those whose name starts with its name, so one page suffices."""
    if len(name) > limits.QUEUE_NAME_LENGTH_MAX:
        return False
    return any(url.rpartition("/")[2] == name for url in await owner.queue_urls(name))


async def _changed(owner: QueueOwner, name: str, attributes: Mapping[str, str]) -> bool:
    found = await owner.attributes(name, list(attributes)) if attributes else {}
    wanted = {
        key: text
        for key, text in attributes.items()
        if not same_value(key, text, found.get(key, ""))
    }
    if wanted:
        await owner.set_attributes(name, wanted)
    return bool(wanted)


async def _tagged(owner: QueueOwner, queue: DeclaredQueue) -> bool:
    tags = await owner.tags(queue.name) if queue.tags else {}
    wanted = {key: tag for key, tag in queue.tags.items() if tags.get(key) != tag}
    if wanted:
        await owner.tag(queue.name, wanted)
    return bool(wanted)


async def _policy(owner: QueueOwner, letters: DeadLetters) -> str:
    found = await owner.attributes(letters.queue, ["QueueArn"])
    policy = {"deadLetterTargetArn": found["QueueArn"], "maxReceiveCount": letters.receives_max}
    return msgspec.json.encode(policy).decode()


@contextlib.contextmanager
def _placed(place: str, refusal: type[DoveError]) -> Iterator[None]:
    try:
        yield
    except refusal as error:
        ours = isinstance(error, RequestError)
        text = text_of(error, query=False) if ours else str(error)
        raise DeclarationInvalid(place, text) from None
