"""What an operator can set: one frozen tree, and where each value came from.

Owns defaults, units, help texts and the names of flags and variables; all stand beside the
field. Refuses unknown keys and bad values with the place to correct them. It builds nothing:
`bootstrap` does that from the tree.
"""

import difflib
import functools
import ipaddress
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from dovemq.core.accounts import ROOT_NUMBER
from dovemq.core.errors import DoveError
from dovemq.core.locations import LocationInvalid, parse_location

ENVIRONMENT_PREFIX: Final = "DOVEMQ_"
FILE_VARIABLE: Final = "DOVEMQ_CONFIG"
FILE_FLAG: Final = "--config"
FILE_BYTES_MAX: Final = 1 << 20
PORT_MAX: Final = 65_535
ACCOUNT: Final = ROOT_NUMBER
CACHE_BYTES_MAX: Final = 32 << 20

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class SettingInvalid(DoveError):
    """`place` is the file, variable or flag to correct."""

    def __init__(self, place: str, found: str, remedy: str) -> None:
        super().__init__(f"{place}: {found}; {remedy}")
        self.place = place


class DeclarationInvalid(SettingInvalid):
    """About a file of queues: `place` names the queue and the attribute too."""

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
    """What one client may take; above a limit its request or its connection is refused."""

    header_bytes_max: Annotated[
        int, _about("All headers of a request together.", "bytes", least=1_024)
    ] = 64 << 10
    header_count_max: Annotated[int, _about("Headers of a request.", least=8)] = 100
    url_bytes_max: Annotated[int, _about("Path and query of a request.", "bytes", least=256)] = (
        16 << 10
    )
    body_bytes_max: Annotated[
        int,
        _about("Body of a request; 1 MiB of text may grow sixfold in JSON.", "bytes", least=1_024),
    ] = 8 << 20
    connections_max: Annotated[
        int, _about("Open connections of a listener; more are answered 503.", least=1)
    ] = 10_000
    pipelined_max: Annotated[
        int, _about("Requests of a connection read ahead of their answers.", least=1)
    ] = 64
    request_seconds_max: Annotated[
        int, _about("Time for a whole request to arrive.", "seconds", least=1)
    ] = 30
    idle_seconds_max: Annotated[
        int, _about("Time that a connection may stay open without a request.", "seconds", least=1)
    ] = 75
    write_seconds_max: Annotated[
        int, _about("Time for a client to take its answer.", "seconds", least=1)
    ] = 30
    address_connections_max: Annotated[
        int, _about("Open connections of one client address; more are answered 503.", least=1)
    ] = 2_500
    unsent_bytes_max: Annotated[
        int, _about("Memory for answers that clients have not read.", "bytes", least=64 << 20)
    ] = 256 << 20


class Settings(Struct, frozen=True, kw_only=True):
    host: Annotated[str, _about("Address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int, _about("Port of the SQS endpoint; 0 picks a free one.", least=0, most=PORT_MAX)
    ] = 9324
    admin_port: Annotated[
        Annotated[int, Meta(ge=0, le=PORT_MAX)] | None,
        _about("Port of the admin API.", default="port + 1"),
    ] = None
    data: Annotated[
        Path,
        _about("Directory of the messages and of the root key.", default="$XDG_DATA_HOME/dovemq"),
    ]
    store: Annotated[
        str, _about("`embedded://` keeps messages in the data directory, `memory://` nowhere.")
    ] = "embedded://"
    region: Annotated[
        Annotated[str, Meta(pattern=r"\A[A-Za-z0-9-]{1,64}\Z")],
        _about("Region in ARNs and signatures."),
    ] = "us-east-1"
    account: Annotated[
        Annotated[str, Meta(pattern=r"\A[0-9]{12}\Z")], _about("Twelve digits of the root account.")
    ] = ACCOUNT
    public_url: Annotated[
        Annotated[str, Meta(pattern=r"\Ahttps?://[^/\s]+/?\Z")] | None,
        _about("Start of queue URLs when a request names no host.", default="none"),
    ] = None
    tls_certificate: Annotated[
        Path | None,
        _about(
            "PEM file of a certificate and its chain: both listeners speak TLS.", default="none"
        ),
    ] = None
    tls_key: Annotated[
        Path | None, _about("PEM file of the certificate's key.", default="none")
    ] = None
    trusted_proxies: Annotated[
        str,
        _about(
            "Addresses and networks, by commas, whose X-Forwarded headers are believed.",
            default="none",
        ),
    ] = ""
    queues: Annotated[
        Path | None,
        _about("TOML file of queues to create or change at the start.", default="none"),
    ] = None
    strict_aws: Annotated[
        bool, _about("Keep AWS's waits of 60 seconds after a deletion or purge of a queue.")
    ] = False
    insecure_no_auth: Annotated[
        bool, _about("Accept any credentials; only on a loopback address.")
    ] = False
    failures_max: Annotated[
        int, _about("Failed signatures of an address before further ones must wait.", least=1)
    ] = 50
    failure_seconds: Annotated[
        int, _about("Time after which one more may fail.", "seconds", least=1)
    ] = 1
    cache_bytes_max: Annotated[
        int, _about("Memory for bodies of recent messages.", "bytes", least=0)
    ] = CACHE_BYTES_MAX
    audit_bytes_max: Annotated[
        int, _about("Size at which the audit log begins another file.", "bytes", least=64 << 10)
    ] = 16 << 20
    audit_files_max: Annotated[
        int, _about("Files of the audit log that are kept, the oldest go.", least=2, most=10_000)
    ] = 16
    drain_seconds: Annotated[
        int, _about("Time for running requests to end after SIGTERM.", "seconds", least=0)
    ] = 20
    trace: Annotated[
        str | None,
        _about(
            "Directory or URI (s3, gs, abfss, hdfs) for the Parquet files of the lifecycle trace.",
            default="none",
        ),
    ] = None
    trace_rotate_rows: Annotated[
        int, _about("Rows after which a file of the trace is finished.", least=1_000)
    ] = 1_000_000
    trace_rotate_seconds: Annotated[
        int, _about("Age at which a file of the trace is finished.", "seconds", least=1)
    ] = 10
    trace_bytes_max: Annotated[
        int, _about("Size of all files of the trace; the oldest go.", "bytes", least=1 << 20)
    ] = 10 << 30
    metrics_open: Annotated[bool, _about("Show metrics to anybody who asks, without a key.")] = (
        False
    )
    metrics_queues_max: Annotated[
        int, _about("Queues with metrics of their own; the less busy share one label.", least=0)
    ] = 200
    log_format: Annotated[
        Literal["text", "json"], _about("Lines for people, or a JSON object a line.")
    ] = "text"
    log_requests: Annotated[bool, _about("Log a line for every request.")] = False
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], _about("Least severity that is logged.")
    ] = "info"
    audit_when_full: Annotated[
        Literal["forget", "refuse"], _about("Full audit log: forget entries or refuse changes.")
    ] = "forget"
    admin: Annotated[bool, _about("Listen for the admin API.")] = True
    admin_host: Annotated[
        str | None, _about("Address that the admin API listens on.", default="host")
    ] = None
    address_logins_max: Annotated[
        int, _about("Logins of one client address checked at once; more get 429.", least=1)
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
    def scheme(self) -> str:
        return "https" if self.tls_certificate else "http"

    @property
    def proxy_networks(self) -> tuple[Network, ...]:
        texts = filter(None, map(str.strip, self.trusted_proxies.split(",")))
        return tuple(map(ipaddress.ip_network, texts))


class Setting(Struct, frozen=True):
    """One leaf of the tree, as flags, messages and the reference page show it."""

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
        """The name of its parsed flag."""
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
        except msgspec.ValidationError as error:
            found = f"{value!r} will not do: {error}"
            raise SettingInvalid(place, found, f"{self.name} means: {self.help}") from None


class Resolved(Struct, frozen=True):
    """The settings, and for each that was set the place that set it."""

    settings: Settings
    sources: Mapping[str, str]

    def source(self, name: str) -> str:
        return self.sources.get(name, "default")

    def value(self, name: str) -> Any:
        return functools.reduce(getattr, name.split("."), self.settings)


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


def resolve(
    flags: Mapping[str, object], environment: Mapping[str, str], file: Path | None = None
) -> Resolved:
    """Defaults, then the file, then the environment, then the flags; None is not set.

    `flags` are keyed by `Setting.key`; keys that are no setting are left to the caller.
    """
    values: dict[str, Any] = {"data": default_directory(environment)}
    sources: dict[str, str] = {}
    if file is None and environment.get(FILE_VARIABLE):
        file = Path(environment[FILE_VARIABLE])
    for name, (value, place) in _layers(flags, environment, file):
        values[name] = value
        sources[name] = place
    settings = _grown(values)
    _check(settings, sources)
    return Resolved(settings, sources)


def default_directory(environment: Mapping[str, str]) -> Path:
    """`$XDG_DATA_HOME/dovemq`, by its own default beneath the home directory."""
    shared = environment.get("XDG_DATA_HOME", "")
    home = Path(shared) if os.path.isabs(shared) else Path.home() / ".local" / "share"
    return home / "dovemq"


_Found = tuple[str, tuple[Any, str]]


def _layers(
    flags: Mapping[str, object], environment: Mapping[str, str], file: Path | None
) -> Iterator[_Found]:
    if file is not None:
        yield from _from_file(file)
    yield from _from_environment(environment)
    for setting in all_settings():
        value = flags.get(setting.key)
        if value is not None:
            yield setting.name, (setting.convert(value, setting.flag, text=True), setting.flag)


def _from_environment(environment: Mapping[str, str]) -> Iterator[_Found]:
    known = {setting.variable: setting for setting in all_settings()}
    for variable in sorted(environment):
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable == FILE_VARIABLE:
            continue
        if variable not in known:
            raise SettingInvalid(variable, "no such setting", _nearest(variable, known))
        setting = known[variable]
        value = setting.convert(environment[variable], variable, text=True)
        yield setting.name, (value, variable)


def _from_file(path: Path) -> Iterator[_Found]:
    known = {setting.name: setting for setting in all_settings()}
    remedy = f"name another file by {FILE_FLAG} or {FILE_VARIABLE}"
    for name, value in _flattened(read_toml(path, remedy)):
        place = f"{path}: {name}"
        if name not in known:
            raise SettingInvalid(place, "no such setting", _nearest(name, known))
        yield name, (known[name].convert(value, place, text=False), str(path))


def read_toml(path: Path, remedy: str) -> dict[str, Any]:
    """The document of a file; `remedy` is what to do where there is none."""
    try:
        with path.open("rb") as stream:
            text = stream.read(FILE_BYTES_MAX).decode()
        return tomllib.loads(text)
    except OSError as error:
        raise SettingInvalid(str(path), error.strerror or str(error), remedy) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingInvalid(str(path), f"not TOML: {error}", "correct the file") from None


def _flattened(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _nearest(name: str, known: Mapping[str, Setting]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else "`dovemq doctor` lists all settings"


def _grown(values: Mapping[str, Any]) -> Settings:
    """The tree whose leaves are given by dotted names."""
    http = {name[5:]: value for name, value in values.items() if name.startswith("http.")}
    top = {name: value for name, value in values.items() if "." not in name}
    return Settings(**top, http=HttpSettings(**http))


def _check(settings: Settings, sources: Mapping[str, str]) -> None:
    """Rules that bind one setting to another."""
    for host in (settings.host, settings.admin_host_chosen):
        if settings.insecure_no_auth and not is_loopback(host):
            raise SettingInvalid(
                sources["insecure_no_auth"],
                f"{host} can be reached from other machines",
                "take a loopback host or let signatures be checked",
            )
    if settings.admin and settings.admin_port_chosen > PORT_MAX:
        raise SettingInvalid(
            sources["port"], "no port is left for the admin API", "set admin_port or a lower port"
        )
    if settings.port and settings.admin and settings.admin_port_chosen == settings.port:
        raise SettingInvalid(
            sources["admin_port"], f"{settings.port} is the SQS port", "take another port"
        )
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        place = sources.get("tls_certificate") or sources["tls_key"]
        raise SettingInvalid(place, "a certificate and its key go together", "name both or none")
    if settings.trace is not None:
        try:
            parse_location(settings.trace)
        except LocationInvalid as error:
            raise SettingInvalid(sources["trace"], error.found, error.remedy) from None
    try:
        _ = settings.proxy_networks
    except ValueError as error:
        raise SettingInvalid(
            sources["trusted_proxies"], str(error), "name addresses or networks by commas"
        ) from None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def reachable_host(host: str) -> str:
    """A host to listen on as a URL of this machine names it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


def _as_path(target: type, value: object) -> Path:
    if target is Path and isinstance(value, str) and value:
        return Path(value).expanduser()
    raise msgspec.ValidationError("Expected a path")
