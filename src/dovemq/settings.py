"""The settings of a server as one frozen tree.

Default, unit, help text and bounds of a setting stand beside its field. The names of its flag and
its variable follow from the name of the field.
"""

import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from dovemq.core.accounts import ROOT_NUMBER
from dovemq.core.errors import DoveError

ENVIRONMENT_PREFIX: Final = "DOVEMQ_"
PORT_MAX: Final = 65_535
ACCOUNT: Final = ROOT_NUMBER
CACHE_BYTES_MAX: Final = 32 << 20
STORE_WAIT_SECONDS: Final = 60
LEAVE_SECONDS: Final = 5
"""More than two checks of a load balancer that checks every second."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class SettingInvalid(DoveError):
    """A setting is wrong. `place` is the file, variable or flag to correct."""

    def __init__(self, place: str, found: str, remedy: str) -> None:
        super().__init__(f"{place}: {found}; {remedy}")
        self.place = place


class DeclarationInvalid(SettingInvalid):
    """A file of queues is wrong. `place` names the queue and the attribute too."""

    def __init__(self, place: str, found: str, remedy: str = "correct the file") -> None:
        super().__init__(place, found, remedy)


def _about(
    text: str,
    unit: str = "",
    *,
    default: str = "",
    least: int | None = None,
    most: int | None = None,
) -> Meta:
    extra = {"unit": unit, "default": default}
    return Meta(description=text, extra=extra, ge=least, le=most)


class HttpSettings(Struct, frozen=True, kw_only=True):
    """Limits for one client. Above a limit its request or its connection is refused."""

    header_bytes_max: Annotated[
        int, _about("Largest size of all headers of a request together.", "bytes", least=1_024)
    ] = 64 << 10
    header_count_max: Annotated[int, _about("Largest number of headers of a request.", least=8)] = (
        100
    )
    url_bytes_max: Annotated[
        int, _about("Largest size of path and query of a request.", "bytes", least=256)
    ] = 16 << 10
    body_bytes_max: Annotated[
        int,
        _about(
            "Largest body of a request. 1 MiB of text can take 6 MiB in JSON.", "bytes", least=1_024
        ),
    ] = 8 << 20
    connections_max: Annotated[
        int, _about("Largest number of open connections of a listener. Others get 503.", least=1)
    ] = 10_000
    pipelined_max: Annotated[
        int,
        _about(
            "Largest number of requests that a connection may send ahead of the answers.", least=1
        ),
    ] = 64
    request_seconds_max: Annotated[
        int, _about("Time within which a whole request must arrive.", "seconds", least=1)
    ] = 30
    idle_seconds_max: Annotated[
        int, _about("Time that a connection may stay open without a request.", "seconds", least=1)
    ] = 75
    write_seconds_max: Annotated[
        int, _about("Time within which a client must read its answer.", "seconds", least=1)
    ] = 30
    address_connections_max: Annotated[
        int, _about("Open connections of one client address. Others get 503.", least=1)
    ] = 2_500
    unsent_bytes_max: Annotated[
        int, _about("Memory for answers that clients have not read.", "bytes", least=64 << 20)
    ] = 256 << 20


class Settings(Struct, frozen=True, kw_only=True):
    """All settings of a server."""

    host: Annotated[str, _about("Address that the server listens on.")] = "127.0.0.1"
    port: Annotated[
        int, _about("Port of the SQS endpoint. 0 chooses a free port.", least=0, most=PORT_MAX)
    ] = 9324
    admin_port: Annotated[
        Annotated[int, Meta(ge=0, le=PORT_MAX)] | None,
        _about("Port of the admin API.", default="port + 1"),
    ] = None
    data: Annotated[
        Path,
        _about(
            "Directory of the messages and the root access key.", default="$XDG_DATA_HOME/dovemq"
        ),
    ]
    store: Annotated[
        str,
        _about(
            "URL of the store. `embedded://` keeps messages on disk, `memory://` only until the "
            "server stops. `cassandra://`, `redis://` and `postgresql://` name a database that "
            "several servers can share."
        ),
    ] = "embedded://"
    store_wait_seconds: Annotated[
        int,
        _about("Time for which a start waits for the database of the store.", "seconds", least=0),
    ] = STORE_WAIT_SECONDS
    advertise: Annotated[
        Annotated[str, Meta(pattern=r"\A(\[[0-9A-Fa-f:.]+\]|[\w.-]+):[0-9]{1,5}\Z")] | None,
        _about(
            "HOST:PORT at which other servers of the same store reach this one. It listens there. "
            "Without it the server works alone on its store.",
            default="none",
        ),
    ] = None
    cluster_secret_file: Annotated[
        Path | None,
        _about(
            "File with the secret that servers of one store share. Needed with advertise.",
            default="none",
        ),
    ] = None
    region: Annotated[
        Annotated[str, Meta(pattern=r"\A[A-Za-z0-9-]{1,64}\Z")],
        _about("Region in ARNs and signatures."),
    ] = "us-east-1"
    account: Annotated[
        Annotated[str, Meta(pattern=r"\A[0-9]{12}\Z")],
        _about("Number of the root account, twelve digits."),
    ] = ACCOUNT
    public_url: Annotated[
        Annotated[str, Meta(pattern=r"\Ahttps?://[^/\s]+/?\Z")] | None,
        _about("Start of queue URLs for requests without a Host header.", default="none"),
    ] = None
    tls_certificate: Annotated[
        Path | None,
        _about(
            "PEM file with a certificate and its chain. It turns on TLS for both listeners.",
            default="none",
        ),
    ] = None
    tls_key: Annotated[
        Path | None, _about("PEM file with the private key of the certificate.", default="none")
    ] = None
    trusted_proxies: Annotated[
        str,
        _about(
            "Addresses and networks of proxies, separated by commas, whose X-Forwarded headers "
            "are trusted.",
            default="none",
        ),
    ] = ""
    queues: Annotated[
        Path | None,
        _about("TOML file with queues to create or change at the start.", default="none"),
    ] = None
    strict_aws: Annotated[
        bool, _about("Refuse to recreate or purge a queue again within 60 seconds, as AWS does.")
    ] = False
    insecure_no_auth: Annotated[
        bool,
        _about(
            "Accept any credentials, for tests and laptops. Allowed on loopback addresses only."
        ),
    ] = False
    failures_max: Annotated[
        int,
        _about("Failed signatures or logins of an address after which more must wait.", least=1),
    ] = 50
    failure_seconds: Annotated[
        int, _about("Time until a failed signature or login is forgotten.", "seconds", least=1)
    ] = 1
    cache_bytes_max: Annotated[
        int, _about("Memory for the bodies of recent messages.", "bytes", least=0)
    ] = CACHE_BYTES_MAX
    audit_bytes_max: Annotated[
        int, _about("Size at which the audit log starts a new file.", "bytes", least=64 << 10)
    ] = 16 << 20
    audit_files_max: Annotated[
        int,
        _about("Largest number of audit log files. See audit_when_full.", least=2, most=10_000),
    ] = 16
    leave_seconds: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        _about(
            "Time after SIGTERM in which the server still serves and reports that it is not ready, "
            "so that load balancers send requests elsewhere.",
            "seconds",
            default="5 with advertise, else 0",
        ),
    ] = None
    drain_seconds: Annotated[
        int,
        _about(
            "Time for running requests to finish after SIGTERM and leave_seconds.",
            "seconds",
            least=0,
        ),
    ] = 20
    trace: Annotated[
        str | None,
        _about(
            "Directory or URI (s3, gs, abfss, hdfs) for the Parquet files of the lifecycle trace.",
            default="none",
        ),
    ] = None
    trace_rotate_rows: Annotated[
        int, _about("Number of rows after which a trace file is finished.", least=1_000)
    ] = 1_000_000
    trace_rotate_seconds: Annotated[
        int, _about("Age at which a trace file is finished.", "seconds", least=1)
    ] = 10
    trace_bytes_max: Annotated[
        int,
        _about(
            "Largest size of all trace files together. The oldest are removed.",
            "bytes",
            least=1 << 20,
        ),
    ] = 10 << 30
    otel_endpoint: Annotated[
        str | None,
        _about(
            "URL of an OpenTelemetry collector (OTLP over HTTP) that gets spans of requests.",
            default="none",
        ),
    ] = None
    otel_sampled_percent: Annotated[
        int,
        _about(
            "Share of the requests without a trace context that get a span. Requests with one "
            "follow it.",
            "percent",
            least=0,
            most=100,
        ),
    ] = 1
    metrics_open: Annotated[bool, _about("Serve metrics without an access key.")] = False
    metrics_queues_max: Annotated[
        int,
        _about(
            "Number of queues with metrics of their own. Less busy ones share a label.", least=0
        ),
    ] = 200
    log_format: Annotated[
        Literal["text", "json"],
        _about("Format of the log: lines of text, or one JSON object per line."),
    ] = "text"
    log_requests: Annotated[bool, _about("Log one line for each request.")] = False
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], _about("Lowest severity that is logged.")
    ] = "info"
    audit_when_full: Annotated[
        Literal["forget", "refuse"], _about("Full audit log: forget entries or refuse changes.")
    ] = "forget"
    admin: Annotated[bool, _about("Serve the admin API.")] = True
    console: Annotated[bool, _about("Serve the web console on the port of the admin API.")] = True
    admin_host: Annotated[
        str | None, _about("Address that the admin API listens on.", default="host")
    ] = None
    address_logins_max: Annotated[
        int, _about("Concurrent logins of one client address. Others get 429.", least=1)
    ] = 8
    http: HttpSettings = HttpSettings()

    @property
    def admin_port_chosen(self) -> int:
        if self.admin_port is not None:
            return self.admin_port
        return self.port + 1 if self.port else 0

    @property
    def admin_host_chosen(self) -> str:
        return self.host if self.admin_host is None else self.admin_host

    @property
    def leave_seconds_chosen(self) -> int:
        if self.leave_seconds is not None:
            return self.leave_seconds
        return LEAVE_SECONDS if self.advertise else 0

    @property
    def scheme(self) -> str:
        return "https" if self.tls_certificate else "http"

    @property
    def proxy_networks(self) -> tuple[Network, ...]:
        texts = filter(None, map(str.strip, self.trusted_proxies.split(",")))
        return tuple(map(ipaddress.ip_network, texts))


class Setting(Struct, frozen=True):
    """One setting, with the names under which flags, variables and files give it."""

    name: str
    annotation: Any
    default: str
    unit: str
    help: str

    @property
    def flag(self) -> str:
        return "--" + self.name.replace(".", "-").replace("_", "-")

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.replace(".", "_").upper()

    @property
    def key(self) -> str:
        """The name of the flag's value in parsed arguments."""
        return self.name.replace(".", "_")

    @property
    def is_switch(self) -> bool:
        return self._plain is bool

    @property
    def choices(self) -> tuple[str, ...]:
        return get_args(self._plain) if get_origin(self._plain) is Literal else ()

    @property
    def _plain(self) -> Any:
        return get_args(self.annotation)[0]

    def convert(self, value: object, place: str, *, text: bool) -> Any:
        """The typed value; `text` when it comes from a flag or a variable."""
        try:
            return msgspec.convert(value, self.annotation, strict=not text, dec_hook=_as_path)
        except msgspec.ValidationError:
            found = f"{value!r} is not {self._expected}"
            raise SettingInvalid(place, found, f"{self.name}: {self.help}") from None

    @property
    def _expected(self) -> str:
        """The valid values in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kinds = {bool: "true or false", int: "a whole number", Path: "a path"}
        plain = next((kind for kind in kinds if kind in _types(self.annotation)), str)
        text = kinds.get(plain, "a valid value")
        for meta in (part for part in _types(self.annotation) if isinstance(part, Meta)):
            text += f" of at least {meta.ge}" if meta.ge is not None else ""
            text += f" and at most {meta.le}" if meta.le is not None else ""
        return text


def all_settings(tree: type[Struct] = Settings, prefix: str = "") -> Iterator[Setting]:
    for field in msgspec.structs.fields(tree):
        name = prefix + field.name
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            yield from all_settings(field.type, name + ".")
            continue
        about: Meta = get_args(field.type)[-1]
        extra = about.extra or {}
        yield Setting(
            name=name,
            annotation=field.type,
            default=extra["default"] or msgspec.json.encode(field.default).decode().strip('"'),
            unit=extra["unit"],
            help=about.description or "",
        )


def _types(annotation: Any) -> list[Any]:
    """The types and bounds in an annotation, however deep they are nested."""
    return [annotation, *(found for part in get_args(annotation) for found in _types(part))]


def _as_path(target: type, value: object) -> Path:
    if target is Path and isinstance(value, str) and value:
        return Path(value).expanduser()
    raise msgspec.ValidationError("Expected a path")
