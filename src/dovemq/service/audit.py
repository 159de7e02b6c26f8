"""The entries of the audit log, and how a change is recorded.

Owns the order: no change starts while the log cannot be written, and the entry of a change is on
disk before the change is answered. An implementation of `Audit` stores the entries.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from dovemq.core.errors import AccessDenied, Busy, Draining, RequestError

OK: Final = "ok"
UNANSWERED: Final = "unanswered"
"""The outcome when the client left before its answer: the change was made, or not."""
DETAILS_BYTES_MAX: Final = 2 << 10
DETAIL_BYTES_MAX: Final = 1 << 10

_UNRECORDED: Final = (RequestError, Busy, Draining)

T = TypeVar("T")


class AuditEntry(Struct, frozen=True):
    """One change or denied change: its caller, its action and its outcome.

    It holds no secret and no message. `account` is None if the caller is unknown or the service
    itself has acted, `key_id` if no key signed.
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

    def add(self, entry: AuditEntry) -> Awaitable[None]:
        """Take an entry at once; the awaitable is done when the entry is durable.

        It raises `AuditUnwritable` if the entry cannot be written. The entry is then kept and
        written before any later one.
        """


async def audited(
    audit: Audit,
    act: Callable[[], Awaitable[T]],
    entry: Callable[[str], AuditEntry],
    code_of: Callable[[Exception], str],
) -> T:
    """Run a change and record it, if it was made, may have been made, or was denied.

    A request that is refused for another reason has changed nothing and is not recorded. Nor is
    one that was refused for lack of capacity: a client could fill the log with such requests.
    """
    audit.check()
    try:
        answered = await act()
    except asyncio.CancelledError:
        audit.add(entry(UNANSWERED))
        raise
    except Exception as error:
        if isinstance(error, AccessDenied) or not isinstance(error, _UNRECORDED):
            await audit.add(entry(code_of(error)))
        raise
    await audit.add(entry(OK))
    return answered


def bounded(details: Mapping[str, Any]) -> Mapping[str, Any]:
    """The details, with long values replaced by their size: a client chooses them."""
    short = {name: _bounded(value, DETAIL_BYTES_MAX) for name, value in details.items()}
    shortened: Mapping[str, Any] = _bounded(short, DETAILS_BYTES_MAX)
    return shortened


def _bounded(value: Any, bytes_max: int) -> Any:
    size_bytes = len(msgspec.json.encode(value))
    return value if size_bytes <= bytes_max else {"omitted_bytes": size_bytes}
