"""Repeated requests while a server is unreachable, overloaded or throttling."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from dovemq.client.errors import ClientError, Refused, TimedOut, Unreachable

ATTEMPTS_MAX: Final = 10
PAUSE_SECONDS: Final = 0.1
PAUSE_SECONDS_MAX: Final = 5.0
_MESSAGE_ERRORS: Final = re.compile(
    "InvalidMessageContents|InvalidParameter|InvalidAttributeValue|MissingParameter"
    "|MissingRequiredParameter|BatchRequestTooLong|MessageTooLong|RequestEntityTooLarge"
)

T = TypeVar("T")

Pause = Callable[[float], Awaitable[None]]


async def retried(ask: Callable[[], Awaitable[T]], pause: Pause = asyncio.sleep) -> T:
    """Ask until an answer comes. Only for requests that may be executed twice."""
    seconds = PAUSE_SECONDS
    for _ in range(ATTEMPTS_MAX - 1):
        try:
            return await ask()
        except ClientError as error:
            if not is_transient(error):
                raise
        await pause(seconds)
        seconds = min(seconds * 2, PAUSE_SECONDS_MAX)
    return await ask()


def is_transient(error: ClientError) -> bool:
    if isinstance(error, Refused):
        return error.status >= 500 or "Throttl" in error.code
    return isinstance(error, TimedOut | Unreachable)


def is_about_one_message(code: str) -> bool:
    """Whether an error code is about one message. Others would hit the next message as well."""
    return _MESSAGE_ERRORS.search(code) is not None
