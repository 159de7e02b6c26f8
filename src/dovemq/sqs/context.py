"""The keys of a policy's conditions, and their values for a request.

Keys that AWS has but that never have a value here are listed too, so that they can be told from
misspelt ones. Keys whose absence would mislead are refused.
"""

import datetime
import ipaddress
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Final, Literal

from msgspec import Struct

from dovemq.core.queue import Queue
from dovemq.http import without_port

HEADER_LENGTH_MAX: Final = 1_024
"""The part of a header that conditions see; the client chooses its contents anyway."""

Kind = Literal["text", "arn", "address", "date", "moment", "flag"]
"""A moment is a date that is also a number."""


class Context(Struct, frozen=True):
    """The time and the origin of a request. `peer` is an address, with its port if known."""

    now_ms: int
    peer: str = ""
    secure: bool = False
    user_agent: str | None = None
    referer: str | None = None


class AccessRequest(Struct, frozen=True):
    """A request of an account for one right on one queue."""

    account: str
    right: str
    queue: Queue
    arn: str
    region: str
    context: Context

    def value(self, key: str) -> str | None:
        """The value of a key in lower case; None if this request has none."""
        known = KEYS.get(key)
        if known is not None:
            return known.read(self)
        if key.startswith(RESOURCE_TAG):
            return _tag(self.queue, key.removeprefix(RESOURCE_TAG))
        return None

    def filled(self, key: str) -> str:
        """The value of a variable; every request has one."""
        return self.value(key) or ""


class Key(Struct, frozen=True):
    name: str
    kind: Kind
    read: Callable[[AccessRequest], str | None]
    meaning: str


def address_of(peer: str) -> str | None:
    """The address in `host:port`, or in `host`; a host with colons may be in brackets."""
    try:
        address = ipaddress.ip_address(without_port(peer).partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def principal_arn(account: str) -> str:
    return f"arn:aws:iam::{account}:root"


def _header(field: str) -> Callable[[AccessRequest], str | None]:
    def read(asked: AccessRequest) -> str | None:
        text: str | None = getattr(asked.context, field)
        return None if text is None else text[:HEADER_LENGTH_MAX]

    return read


def _principal_arn(asked: AccessRequest) -> str:
    return principal_arn(asked.account)


def _secure(asked: AccessRequest) -> str:
    return "true" if asked.context.secure else "false"


def _address(asked: AccessRequest) -> str | None:
    return address_of(asked.context.peer)


def _epoch_time(asked: AccessRequest) -> str:
    return str(asked.context.now_ms // 1_000)


def _current_time(asked: AccessRequest) -> str:
    moment = datetime.datetime.fromtimestamp(asked.context.now_ms // 1_000, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _tag(queue: Queue, name: str) -> str | None:
    """Keys ignore case but tags do not: if two tags differ only by case, there is no value."""
    found = [value for tag, value in queue.tags.items() if tag.lower() == name]
    return found[0] if len(found) == 1 else None


RESOURCE_TAG: Final = "aws:resourcetag/"

_account: Final = attrgetter("account")
_owner: Final = attrgetter("queue.key.account")
_ALWAYS: Final = (
    Key("aws:PrincipalAccount", "text", _account, "the twelve digits of the caller's account"),
    Key("aws:PrincipalArn", "arn", _principal_arn, "`arn:aws:iam::ACCOUNT:root`"),
    Key("aws:PrincipalType", "text", lambda _: "Account", "`Account`"),
    Key("aws:RequestedRegion", "text", attrgetter("region"), "the server's region"),
    Key("aws:ResourceAccount", "text", _owner, "the account that owns the queue"),
    Key("aws:userid", "text", _account, "as aws:PrincipalAccount"),
)
"""Keys that have a value in every request, so that they can be variables."""
_OTHERS: Final = (
    Key("aws:CurrentTime", "date", _current_time, "now"),
    Key("aws:EpochTime", "moment", _epoch_time, "now, in seconds since 1970"),
    Key("aws:PrincipalIsAWSService", "flag", lambda _: "false", "`false`"),
    Key("aws:Referer", "text", _header("referer"), "the header Referer, if there is one"),
    Key("aws:SecureTransport", "flag", _secure, "whether the request came over TLS"),
    Key("aws:SourceIp", "address", _address, "the address that the request came from"),
    Key("aws:UserAgent", "text", _header("user_agent"), "the header User-Agent, if there is one"),
    Key("aws:ViaAWSService", "flag", lambda _: "false", "`false`"),
)
VARIABLES: Final = frozenset(key.name.lower() for key in _ALWAYS)
KEYS: Final[Mapping[str, Key]] = {
    key.name.lower(): key for key in sorted((*_ALWAYS, *_OTHERS), key=lambda key: key.name.lower())
}

ABSENT: Final = (
    "aws:AssumedRoot", "aws:CalledVia", "aws:CalledViaFirst", "aws:CalledViaLast",
    "aws:ChatbotSourceArn", "aws:Ec2InstanceSourcePrivateIPv4", "aws:Ec2InstanceSourceVpc",
    "aws:FederatedProvider", "aws:MultiFactorAuthAge", "aws:MultiFactorAuthPresent",
    "aws:PrincipalOrgID", "aws:PrincipalOrgPaths", "aws:PrincipalServiceName",
    "aws:PrincipalServiceNamesList", "aws:ResourceOrgID", "aws:ResourceOrgPaths",
    "aws:SourceAccount", "aws:SourceArn", "aws:SourceIdentity", "aws:SourceOrgID",
    "aws:SourceOrgPaths", "aws:SourceOwner", "aws:SourceVpc", "aws:SourceVpcArn",
    "aws:SourceVpce", "aws:TokenIssueTime", "aws:username", "aws:VpceAccount", "aws:VpceOrgID",
    "aws:VpceOrgPaths", "aws:VpcSourceIp",
)  # fmt: skip
"""Keys of AWS that no request has here: there are no services, users, sessions or networks."""

_ABSENT_LOWER: Final = frozenset(name.lower() for name in ABSENT)
_PRINCIPAL_TAG: Final = "aws:principaltag/"
_OURS: Final = ("aws:", "sqs:")


def key_problem(key: str) -> str | None:
    """The reason why a key in lower case is refused; None if it is accepted."""
    prefix, _, rest = key.partition(":")
    if not prefix or not rest:
        return "is no condition key"
    if key == "aws:tagkeys" or key.startswith("aws:requesttag/"):
        return "is not supported: the tags of a request are not compared"
    if key in KEYS or key in _ABSENT_LOWER:
        return None
    for stem in (RESOURCE_TAG, _PRINCIPAL_TAG):
        if key.startswith(stem) and key != stem:
            return None
    # Keys of other services have no value. A misspelt key of ours would not either, unnoticed.
    return "is not known" if key.startswith(_OURS) else None
