"""Trusted proxies: the client's address, scheme and host as they forward them.

Only the last part of each header counts, which the nearest proxies wrote. A client may have
invented everything to the left of the first address that is not a proxy's. A malformed value is
refused, since policies and limits rely on it.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from dovemq.http import is_host, without_port
from dovemq.settings import Network

HOPS_MAX: Final = 16
_PORT_UNKNOWN: Final = 0

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class ForwardedMalformed(Exception):
    """A forwarded header is malformed; the request is refused."""


class ForwardedClient(Struct, frozen=True):
    """The client behind the proxies; without a `host` the request's own host counts."""

    peer: str
    secure: bool
    host: str | None


class Proxies:
    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = tuple(networks)

    def trusts(self, address: str) -> bool:
        try:
            return self._covers(_parsed(address))
        except ValueError:
            return False

    def origin(self, headers: Mapping[str, str], peer: str, secure: bool) -> ForwardedClient:
        """The client of a request from a trusted `peer`; by default the values of the peer."""
        scheme = _last(headers, "x-forwarded-proto")
        if scheme is not None:
            if scheme.lower() not in ("http", "https"):
                raise ForwardedMalformed("X-Forwarded-Proto must be http or https.")
            secure = scheme.lower() == "https"
        host = _last(headers, "x-forwarded-host")
        if host is not None and not is_host(host):
            raise ForwardedMalformed("X-Forwarded-Host must be a host.")
        forwarded = headers.get("x-forwarded-for")
        return ForwardedClient(peer if forwarded is None else self._client(forwarded), secure, host)

    def _client(self, forwarded: str) -> str:
        hops = forwarded.rsplit(",", HOPS_MAX)
        address = None
        for hop in hops[: -HOPS_MAX - 1 : -1]:
            try:
                # Some proxies add the port.
                address = _parsed(without_port(hop.strip()))
            except ValueError:
                raise ForwardedMalformed("X-Forwarded-For must hold addresses.") from None
            if not self._covers(address):
                break
        else:
            if len(hops) > HOPS_MAX:
                raise ForwardedMalformed(f"X-Forwarded-For names over {HOPS_MAX} proxies.")
        host = f"[{address}]" if isinstance(address, ipaddress.IPv6Address) else str(address)
        return f"{host}:{_PORT_UNKNOWN}"

    def _covers(self, address: _Address) -> bool:
        return any(address in network for network in self._networks)


def _parsed(text: str) -> _Address:
    # A zone can be any text and is valid on one machine only.
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _last(headers: Mapping[str, str], name: str) -> str | None:
    text = headers.get(name)
    return None if text is None else text.rpartition(",")[2].strip()
