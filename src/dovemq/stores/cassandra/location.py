"""The location of a Cassandra or ScyllaDB cluster, parsed from its URL.

    cassandra://user:password@host1,host2,host3:9042/keyspace?consistency=quorum&replication=3

The driver learns of the other nodes from the hosts; name several, since one may be down when the
front end starts. All nodes have the same port, 9042 if it is left out. User and password are left
out if the cluster asks for none. Special characters of both are percent-encoded.

    parameter     values                                               default
    consistency   replicas that must have a group before it is         quorum
                  answered: one, quorum, all
    replication   copies of everything; used when the keyspace is      3
                  created, 1-9
    datacenter    datacenter of the copies and of the nodes that are   that of the first host
                  asked                                                that answers
    tls           on, off                                              off
    ca            file with the certificate of the authority           needed with tls=on
    cert          file with the certificate of this client             none
    key           file with its private key                            needed with cert
    verify        address: the certificate must name the node's        address
                  address; name: the name to which the address
                  resolves; ca: any certificate of the authority
"""

import re
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote

from msgspec import Struct

from dovemq.settings import PORT_MAX, SettingInvalid

EXAMPLE: Final = "cassandra://host1,host2,host3:9042/keyspace?consistency=quorum"
NATIVE_PORT: Final = 9042
REPLICATION: Final = 3
REPLICATION_MAX: Final = 9
CONSISTENCIES: Final = ("one", "quorum", "all")
VERIFICATIONS: Final = ("address", "name", "ca")
TLS_FILES: Final = ("ca", "cert", "key")
TLS_ONLY: Final = (*TLS_FILES, "verify")
PARAMETERS: Final = ("consistency", "replication", "datacenter", "tls", *TLS_ONLY)

_URL: Final = re.compile(
    r"cassandra://(?:(?P<login>[^@/?#]*)@)?(?P<hosts>[^@/?#]+)/(?P<keyspace>[^/?#]*)"
    r"(?:\?(?P<query>[^#]*))?"
)
_NODE: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::([0-9]{1,5}))?", re.ASCII)
_KEYSPACE: Final = re.compile(r"[a-z][a-z0-9_]{0,47}")
_DATACENTER: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)


class CassandraTls(Struct, frozen=True):
    """Files in PEM form. `cert` and `key` are for clusters that ask clients for a certificate."""

    ca: Path
    cert: Path | None = None
    key: Path | None = None
    verify: str = VERIFICATIONS[0]


class CassandraLocation(Struct, frozen=True):
    """`replication` counts when the keyspace is created; `datacenter` None is asked for."""

    hosts: tuple[str, ...]
    keyspace: str
    port: int = NATIVE_PORT
    user: str | None = None
    password: str | None = None
    consistency: str = "quorum"
    replication: int = REPLICATION
    datacenter: str | None = None
    tls: CassandraTls | None = None

    def __str__(self) -> str:
        hosts = ",".join(f"[{host}]" if ":" in host else host for host in self.hosts)
        port = "" if self.port == NATIVE_PORT else f":{self.port}"
        return f"cassandra://{hosts}{port}/{self.keyspace}"

    __repr__ = __str__


def parse_cassandra_url(url: str) -> CassandraLocation:
    """Read the URL. No text of an error repeats it, since it may hold a password."""
    form = _URL.fullmatch(url)
    if form is None:
        raise _invalid("this is not a URL of Cassandra", f"write {EXAMPLE}")
    if not _KEYSPACE.fullmatch(form["keyspace"]):
        remedy = "use at most 48 of a-z, 0-9 and _, a letter first"
        raise _invalid(f"{form['keyspace']!r} cannot be a keyspace", remedy)
    user, password = _credentials(form["login"])
    hosts, port = _hosts(form["hosts"])
    given = _given(form["query"])
    return CassandraLocation(
        hosts=hosts,
        port=port,
        keyspace=form["keyspace"],
        user=user,
        password=password,
        consistency=_one_of(given, "consistency", "quorum", CONSISTENCIES),
        replication=int(_one_of(given, "replication", f"{REPLICATION}", _COUNTS)),
        datacenter=_datacenter(given),
        tls=_tls(given),
    )


_COUNTS: Final = tuple(f"{count}" for count in range(1, REPLICATION_MAX + 1))


def _credentials(login: str | None) -> tuple[str | None, str | None]:
    if login is None:
        return None, None
    user, _, password = login.partition(":")
    if not user or not password:
        raise _invalid("the URL has an @ without user and password", "write user:password@")
    return unquote(user), unquote(password)


def _hosts(text: str) -> tuple[tuple[str, ...], int]:
    nodes = [_NODE.fullmatch(node) for node in text.split(",")]
    found = [node for node in nodes if node]
    if len(found) < len(nodes):
        raise _invalid(f"{text!r} is not a list of hosts", f"write {EXAMPLE}")
    ports = {int(node[2]) for node in found if node[2]} or {NATIVE_PORT}
    if len(ports) > 1:
        raise _invalid("the hosts have different ports", "all nodes must use the same port")
    port = ports.pop()
    if not 1 <= port <= PORT_MAX:
        raise _invalid(f"port {port}", f"use 1 to {PORT_MAX}")
    return tuple(node[1].strip("[]") for node in found), port


def _given(query: str | None) -> dict[str, str]:
    try:
        pairs = parse_qsl(query or "", keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise _invalid("a parameter is not of the form name=value", f"write {EXAMPLE}") from None
    given: dict[str, str] = {}
    for name, value in pairs:
        if name not in PARAMETERS:
            raise _invalid(f"unknown parameter {name!r}", f"use {', '.join(PARAMETERS)}")
        if name in given or not value:
            raise _invalid(f"parameter {name!r} is repeated or empty", "give it one value")
        given[name] = value
    return given


def _one_of(given: dict[str, str], name: str, default: str, allowed: tuple[str, ...]) -> str:
    value = given.get(name, default)
    if value not in allowed:
        raise _invalid(f"{name}={value}", f"use {', '.join(allowed)}")
    return value


def _datacenter(given: dict[str, str]) -> str | None:
    name = given.get("datacenter")
    if name is not None and not _DATACENTER.fullmatch(name):
        raise _invalid(f"datacenter={name}", "use letters, digits, dots, _ and -")
    return name


def _tls(given: dict[str, str]) -> CassandraTls | None:
    if _one_of(given, "tls", "off", ("on", "off")) == "off":
        if unused := [name for name in TLS_ONLY if name in given]:
            raise _invalid(f"parameter {unused[0]!r} is for TLS", "add tls=on")
        return None
    if "ca" not in given:
        raise _invalid("tls=on without ca", "name the file of the authority's certificate")
    if ("cert" in given) != ("key" in given):
        raise _invalid("one of cert and key is missing", "name both files")
    files = {name: Path(given[name]) for name in TLS_FILES if name in given}
    return CassandraTls(**files, verify=_one_of(given, "verify", "address", VERIFICATIONS))


def _invalid(found: str, remedy: str) -> SettingInvalid:
    return SettingInvalid("store", found, remedy)
