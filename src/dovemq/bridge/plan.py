"""The plan of a bridge: broker, session, routes, bounds. It is checked before anything starts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from dovemq.bridge.errors import BridgePlanInvalid
from dovemq.bridge.routes import Route, RouteTable
from dovemq.bridge.topics import TopicFilter

IN_FLIGHT_MAX: Final = 65_535
"""Packet identifiers of MQTT."""
SESSION_SECONDS_MAX: Final = 2**32 - 2
"""Longest session of MQTT 5 that ends."""
CLIENT_ID_BYTES_MAX: Final = 65_535
PROTOCOLS: Final = ("5", "3.1.1")
_PORTS: Final = {"mqtt": 1883, "mqtts": 8883}


class BrokerAddress(Struct, frozen=True):
    url: str
    host: str
    port: int
    secure: bool

    @classmethod
    def parse(cls, url: str) -> "BrokerAddress":
        form = "an address is mqtt://HOST[:PORT] or mqtts://HOST[:PORT]"
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise BridgePlanInvalid("--broker", form) from None
        if "@" in parts.netloc:
            # The address itself is left out, since it may contain a password.
            raise BridgePlanInvalid(
                "--broker",
                "names no user: set MQTT_USER and MQTT_PASSWORD, or give --login FILE",
            )
        if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/"):
            raise BridgePlanInvalid(f"--broker {url}", form)
        return cls(url, parts.hostname, port or _PORTS[parts.scheme], parts.scheme == "mqtts")


class BrokerLogin(Struct, frozen=True):
    user: str
    password: str | None = None

    def __repr__(self) -> str:
        return f"BrokerLogin({self.user!r})"


class BrokerTrust(Struct, frozen=True):
    """Files of a connection with TLS: trusted certificates, and our own certificate with its key.

    None for `ca` means the certificates that the system trusts.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class BridgePlan(Struct, frozen=True):
    """Everything that a bridge does not learn from broker and queues."""

    broker: BrokerAddress
    routes: RouteTable
    client_id: str
    protocol: str
    in_flight_max: int
    session_seconds: int
    refused_queue: str | None = None
    create: bool = False
    clean_start: bool = False
    unsubscribe: Sequence[str] = ()
    """Filters of earlier runs, whose subscriptions end."""
    login: BrokerLogin | None = None
    trust: BrokerTrust = BrokerTrust()

    def __post_init__(self) -> None:
        if not 1 <= self.in_flight_max <= IN_FLIGHT_MAX:
            raise BridgePlanInvalid("--in-flight", f"must be 1 to {IN_FLIGHT_MAX}")
        if not 1 <= self.session_seconds <= SESSION_SECONDS_MAX:
            raise BridgePlanInvalid("--session", f"must be 1 to {SESSION_SECONDS_MAX} seconds")
        if not 1 <= len(self.client_id.encode()) <= CLIENT_ID_BYTES_MAX:
            raise BridgePlanInvalid("--client-id", f"must have 1 to {CLIENT_ID_BYTES_MAX} bytes")
        if self.trust != BrokerTrust() and not self.broker.secure:
            raise BridgePlanInvalid(f"--broker {self.broker.url}", "certificates need mqtts://")
        for each in self.routes.subscriptions:
            if each.text in self.unsubscribe:
                raise BridgePlanInvalid(f"--unsubscribe {each.text}", "a route needs this filter")
        if self.trust.key is not None and self.trust.certificate is None:
            raise BridgePlanInvalid("--broker-key", "needs --broker-certificate")

    @property
    def queues(self) -> list[str]:
        """All queues that must exist."""
        spare = [self.refused_queue] if self.refused_queue else []
        return [*self.routes.queues, *spare]

    @property
    def ended_filters(self) -> list[str]:
        """Filters that a resumed session must not be subscribed to."""
        return [*self.unsubscribe, *(each.text for each in self.routes.covered)]

    @property
    def is_version_five(self) -> bool:
        return self.protocol == PROTOCOLS[0]


class RouteEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A route as a file or the command line gives it."""

    filter: str
    queue: str
    group_level: int | None = None
    deduplicate: bool | None = None

    def route(self, group_level: int | None, *, deduplicate: bool) -> Route:
        """The route, with defaults for what is not given here."""
        level = self.group_level if self.group_level is not None else group_level
        if level is not None and level < 1:
            raise BridgePlanInvalid(f"{self.filter}={self.queue}", "levels are counted from 1")
        once = deduplicate if self.deduplicate is None else self.deduplicate
        return Route(TopicFilter.parse(self.filter), self.queue, level, once)


class BridgeFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The TOML file of a bridge. Its keys are the options of the command, and tables `route`."""

    broker: str = ""
    client_id: str = "dovemq-bridge"
    protocol: Literal["5", "3.1.1"] = "5"
    in_flight: int = 100
    session: str = "7d"
    create: bool = False
    refused_queue: str | None = None
    group_level: int | None = None
    deduplicate: bool = False
    login: str | None = None
    broker_ca: str | None = None
    broker_certificate: str | None = None
    broker_key: str | None = None
    route: Sequence[RouteEntry] = ()


def read_bridge_file(path: Path, content: Mapping[str, Any]) -> BridgeFile:
    """The file's parsed content, checked."""
    try:
        return msgspec.convert(content, BridgeFile)
    except msgspec.ValidationError as error:
        raise BridgePlanInvalid(str(path), str(error)) from None
