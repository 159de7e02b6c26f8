"""A request and a response as values; reading and writing them is the server's matter."""

import ipaddress
import re
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

_HOST: Final = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?", re.ASCII
)
_NETWORK_BITS: Final = 64

Undelivered = Callable[[], Awaitable[None]]


class HttpRequest(Struct, frozen=True):
    """As it came off the wire: `path` and `query` are raw, header names are lower-case.

    Header values are decoded as latin-1; repeated headers are joined by a comma. `peer` is the
    client's `address:port`, with brackets around an address that has colons; `secure` tells that
    it spoke TLS. Both are of the client itself when a trusted proxy stands between; its port is
    then 0, for proxies do not tell. `read_ns` is when it was
    complete, if anybody wants to know.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    peer: str
    secure: bool = False
    read_ns: int = 0


class HttpResponse(Struct, frozen=True):
    """`undelivered` is awaited by whoever could not write this response to its client.

    After it the connection rests for `pause_ms`: nothing is read from it.
    `written` is called once the system has taken all of it.
    """

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    undelivered: Undelivered | None = None
    pause_ms: int = 0
    written: Callable[[], None] | None = None


def client_of(peer: str) -> str:
    """Its address, or the network of version 6 whose addresses one client has at will."""
    address = peer.rpartition(":")[0].strip("[]")
    if ":" not in address:
        return address
    try:
        network = (address.partition("%")[0], _NETWORK_BITS)
        return str(ipaddress.ip_network(network, strict=False))
    except ValueError:
        return address


def is_host(text: str) -> bool:
    """Whether it could be part of a URL: a name or an address, and a port."""
    return _HOST.fullmatch(text) is not None
