"""A request and a response as values; reading and writing them is the server's matter."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

Undelivered = Callable[[], Awaitable[None]]


class HttpRequest(Struct, frozen=True):
    """As it came off the wire: `path` and `query` are raw, header names are lower-case.

    Header values are decoded as latin-1; repeated headers are joined by a comma. `read_us` is
    when it was complete, if anybody wants to know.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    peer: str
    read_us: int = 0


class HttpResponse(Struct, frozen=True):
    """`undelivered` is awaited by whoever could not write this response to its client.

    `written` is called once the system has taken all of it.
    """

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    undelivered: Undelivered | None = None
    written: Callable[[], None] | None = None
