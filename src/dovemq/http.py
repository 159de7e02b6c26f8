"""HTTP requests and responses as values. `server` reads and writes them."""

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
    """One request, as the server read it.

    `path` and `query` are not decoded. Header names are lower-case, values are decoded as latin-1,
    and repeated headers are joined by a comma. `peer` is the client's `address:port`, with brackets
    around an address that has colons. `secure` is true for a client that used TLS. Behind a trusted
    proxy both describe the client, not the proxy; the port is then 0, since proxies do not state
    it. `read_ns` is the time at which the request was complete, or 0 if it was not recorded.
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
    """One response.

    The server awaits `undelivered` if it could not write the response to the client, and calls
    `written` once the operating system has taken all of it. After the response the server reads
    nothing from the connection for `pause_ms`.
    """

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    undelivered: Undelivered | None = None
    pause_ms: int = 0
    written: Callable[[], None] | None = None


def without_port(host: str) -> str:
    """The host of `host:port`; a host with colons may be in brackets, and loses them."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def client_of(peer: str) -> str:
    """The address of a peer; for IPv6 its /64 network, in which a client can choose any address."""
    address = peer.rpartition(":")[0].strip("[]")
    if ":" not in address:
        return address
    try:
        network = (address.partition("%")[0], _NETWORK_BITS)
        return str(ipaddress.ip_network(network, strict=False))
    except ValueError:
        return address


def is_host(text: str) -> bool:
    """Whether the text is a host as in a URL: a name or an address, with or without a port."""
    return _HOST.fullmatch(text) is not None
