"""The location of a Redis Cluster or of one Redis server, parsed from its URL.

    redis://user:password@host1:7000,host2:7000,host3:7000?wait=1
    rediss://:password@host1:7000?ca=ca.pem

`rediss` is Redis over TLS. A cluster needs one of its servers here, of which the others are
learned; name several, since one may be down when the front end starts. A server that is not part
of a cluster is named alone. The port is 6379 if it is left out. A password without a user belongs
to the user `default`. Special characters of user and password are percent-encoded.

    parameter     values                                               default
    wait          replicas that must have a write before it is         0
                  answered, 0-5
    prefix        first word of all keys: letters, digits, . _ -       dovemq
    connections   largest number of connections to one server, 1-1000  32
    ca            file with certificates of authorities                those of the machine
    cert          file with the certificate of this client             none
    key           file with its private key                            in the file of cert
    verify        full: also the name of the server is checked;        full
                  ca: only who signed its certificate

The last four are for `rediss` alone. The servers of a cluster are called by the addresses that they
announce, so their certificates name these, unless `verify` is `ca`. A user other than `default`
needs these rights:

    ~dovemq:* +@read +@write +@scripting +info +time +wait +asking +cluster|slots
"""

import re
from typing import Final
from urllib.parse import parse_qsl, unquote

from msgspec import Struct

from dovemq.settings import PORT_MAX, SettingInvalid

PLAIN: Final = "redis"
SECURE: Final = "rediss"
EXAMPLE: Final = "redis://host1:6379,host2:6379,host3:6379?wait=1"
PORT: Final = 6379
PREFIX: Final = "dovemq"
CONNECTIONS: Final = 32
CONNECTIONS_MAX: Final = 1_000
REPLICAS_MAX: Final = 5
VERIFY: Final = ("full", "ca")
TLS_PARAMETERS: Final = ("ca", "cert", "key", "verify")
PARAMETERS: Final = ("wait", "prefix", "connections", *TLS_PARAMETERS)

RedisAddress = tuple[str, int]
"""Host and port of a server."""

_FORM: Final = re.compile(
    r"(?P<scheme>rediss?)://(?:(?P<login>[^@/?#]*)@)?(?P<hosts>[^@/?#]+)/?(?:\?(?P<query>[^#]*))?"
)
_HOST: Final = re.compile(
    r"(?:\[(?P<bracketed>[0-9A-Fa-f:.]+)\]|(?P<plain>[\w.-]+))(?::(?P<port>[0-9]{1,5}))?", re.ASCII
)
_PREFIX: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)


class RedisLocation(Struct, frozen=True):
    """`tls` is None without TLS, else the parameters of TLS as they were given."""

    addresses: tuple[RedisAddress, ...]
    user: str | None = None
    password: str | None = None
    tls: dict[str, str] | None = None
    wait: int = 0
    prefix: str = PREFIX
    connections: int = CONNECTIONS

    def __str__(self) -> str:
        """The URL without user, password and what is as usual."""
        scheme = PLAIN if self.tls is None else SECURE
        shown = {"wait": self.wait or "", "prefix": self.prefix if self.prefix != PREFIX else ""}
        query = "&".join(f"{name}={value}" for name, value in shown.items() if value)
        hosts = ",".join(map(written_address, self.addresses))
        return f"{scheme}://{hosts}{'?' if query else ''}{query}"

    __repr__ = __str__


def written_address(address: RedisAddress) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_redis_url(url: str) -> RedisLocation:
    """Read the URL. No text of an error repeats it, since it may hold a password."""
    if (form := _FORM.fullmatch(url)) is None:
        raise _invalid("this is not a URL of Redis", f"write {EXAMPLE}")
    user, password = _login(form["login"])
    given = _parameters(form["query"] or "", secure=form["scheme"] == SECURE)
    return RedisLocation(
        addresses=tuple(map(_address, form["hosts"].split(","))),
        user=user,
        password=password,
        tls={name: given[name] for name in TLS_PARAMETERS if name in given}
        if form["scheme"] == SECURE
        else None,
        wait=_number(given, "wait", 0, 0, REPLICAS_MAX),
        prefix=_prefix(given),
        connections=_number(given, "connections", CONNECTIONS, 1, CONNECTIONS_MAX),
    )


def _login(text: str | None) -> tuple[str | None, str | None]:
    if text is None:
        return None, None
    user, colon, password = text.partition(":")
    if not password or not colon:
        raise _invalid("the URL has an @ but no password before it", "write :password@ or no @")
    return unquote(user) or None, unquote(password)


def _address(text: str) -> RedisAddress:
    found = _HOST.fullmatch(text)
    port = int(found["port"] or PORT) if found else 0
    if found is None or not 1 <= port <= PORT_MAX:
        raise _invalid("a server of the URL is not a host with a port", f"write {EXAMPLE}")
    return found["bracketed"] or found["plain"], port


def _parameters(query: str, *, secure: bool) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise _invalid("the parameters are not of the form name=value", EXAMPLE) from None
    given = dict(pairs)
    for name in given:
        if name not in PARAMETERS:
            raise _invalid(f"unknown parameter {name!r}", f"use {', '.join(PARAMETERS)}")
        if not given[name]:
            raise _invalid(f"parameter {name!r} is empty", "give it a value or leave it out")
        if name in TLS_PARAMETERS and not secure:
            raise _invalid(f"parameter {name!r} is for TLS", f"write {SECURE}:// for TLS")
    if len(given) < len(pairs):
        raise _invalid("a parameter is given twice", "give each once")
    if "key" in given and "cert" not in given:
        raise _invalid("parameter 'key' stands without 'cert'", "name both files")
    if given.get("verify", VERIFY[0]) not in VERIFY:
        raise _invalid(f"verify={given['verify']}", f"use {' or '.join(VERIFY)}")
    return given


def _number(given: dict[str, str], name: str, default: int, least: int, most: int) -> int:
    text = given.get(name, f"{default}")
    if not re.fullmatch("[0-9]{1,6}", text) or not least <= int(text) <= most:
        raise _invalid(f"{name}={text}", f"use {least} to {most}")
    return int(text)


def _prefix(given: dict[str, str]) -> str:
    prefix = given.get("prefix", PREFIX)
    if not _PREFIX.fullmatch(prefix):
        raise _invalid(f"prefix={prefix}", "use at most 64 letters, digits, dots, _ and -")
    return prefix


def _invalid(found: str, remedy: str) -> SettingInvalid:
    return SettingInvalid("store", found, remedy)
