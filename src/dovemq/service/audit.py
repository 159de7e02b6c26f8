"""What the audit log holds, and how a change is done under it.

Owns the order of things: no change begins while the log cannot be written, and the entry of a
change is on disk before the change is answered. Where the entries are kept is another's matter.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from dovemq.core.errors import AccessDenied, RequestError

OK: Final = "ok"
UNANSWERED: Final = "unanswered"
"""The outcome when the client left in the midst of it: done, or not done."""
DETAILS_BYTES_MAX: Final = 16 << 10

T = TypeVar("T")


class AuditEntry(Struct, frozen=True):
    """Who asked for what, and what became of it. No secret, no message.

    `account` is None when nobody is known to have asked, `key_id` when no key signed.
    """

    at_ms: int
    request_id: str
    account: str | None
    key_id: str | None
    peer: str
    action: str
    target: str
    outcome: str
    details: Mapping[str, Any]


class Audit(Protocol):
    def check(self) -> None:
        """Raises `AuditUnwritable` while entries cannot be written."""
        ...

    def add(self, entry: AuditEntry) -> Awaitable[None]:
        """Taken when called, durable when answered.

        An entry that cannot be written raises `AuditUnwritable`; it is kept and written before
        any later one.
        """
        ...


async def audited(
    audit: Audit,
    act: Callable[[], Awaitable[T]],
    entry: Callable[[str], AuditEntry],
    code_of: Callable[[Exception], str],
) -> T:
    """Do it and record it: what was done, what may have been done, and what was denied.

    A request that is refused for another reason has changed nothing and is not recorded.
    """
    audit.check()
    try:
        answered = await act()
    except asyncio.CancelledError:
        audit.add(entry(UNANSWERED))
        raise
    except Exception as error:
        if isinstance(error, AccessDenied) or not isinstance(error, RequestError):
            await audit.add(entry(code_of(error)))
        raise
    await audit.add(entry(OK))
    return answered


def bounded(details: Mapping[str, Any]) -> Mapping[str, Any]:
    """The details, or how long they would be: a client chooses them."""
    size_bytes = len(msgspec.json.encode(details))
    return details if size_bytes <= DETAILS_BYTES_MAX else {"omitted_bytes": size_bytes}
