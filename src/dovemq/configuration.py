"""Settings from flags, environment and file, with the source of each value.

Unknown names and invalid values are refused with the place to correct.
"""

import difflib
import functools
import ipaddress
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from dovemq.core.locations import LocationInvalid, parse_location
from dovemq.settings import (
    ENVIRONMENT_PREFIX,
    PORT_MAX,
    HttpSettings,
    Setting,
    SettingInvalid,
    Settings,
    all_settings,
)

FILE_VARIABLE: Final = "DOVEMQ_CONFIG"
FILE_FLAG: Final = "--config"
FILE_BYTES_MAX: Final = 1 << 20
_SERVICE_LINK: Final = re.compile(
    r"DOVEMQ_([A-Z0-9_]+_)?"
    r"(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
"""Variables that Kubernetes sets in pods for each Service whose name begins with `dovemq`."""
_LINKED_PORT: Final = re.compile(r"DOVEMQ_([A-Z0-9_]+_)?PORT")
_LINKED_ADDRESS: Final = re.compile(r"(tcp|udp|sctp)://[0-9A-Fa-f.:\[\]]+:[0-9]{1,5}")
"""Some have the name of a setting: a Service `dovemq` sets `DOVEMQ_PORT`, and a Service
`dovemq-admin` sets `DOVEMQ_ADMIN_PORT`. Their values have a form that no setting has."""


class Resolved(Struct, frozen=True):
    """The settings, with the flag, variable or file that set each of them."""

    settings: Settings
    sources: Mapping[str, str]

    def source(self, name: str) -> str:
        return self.sources.get(name, "default")

    def value(self, name: str) -> Any:
        return functools.reduce(getattr, name.split("."), self.settings)


def resolve(
    flags: Mapping[str, object], environment: Mapping[str, str], file: Path | None = None
) -> Resolved:
    """Settings from flags, else from the environment, else from the file, else defaults.

    `flags` has the keys of `Setting.key`. Other keys, and flags that are None, are ignored.
    """
    values: dict[str, Any] = {"data": default_directory(environment)}
    sources: dict[str, str] = {}
    if file is None and environment.get(FILE_VARIABLE):
        file = Path(environment[FILE_VARIABLE])
    for name, (value, place) in _layers(flags, environment, file):
        values[name] = value
        sources[name] = place
    settings = _tree(values)
    _check(settings, sources)
    return Resolved(settings, sources)


def default_directory(environment: Mapping[str, str]) -> Path:
    """`$XDG_DATA_HOME/dovemq`, which is `~/.local/share/dovemq` unless the variable is set."""
    shared = environment.get("XDG_DATA_HOME", "")
    home = Path(shared) if os.path.isabs(shared) else Path.home() / ".local" / "share"
    return home / "dovemq"


_Found = tuple[str, tuple[Any, str]]
"""The name of a setting, its value, and the flag, variable or file that gave it."""


def _layers(
    flags: Mapping[str, object], environment: Mapping[str, str], file: Path | None
) -> Iterator[_Found]:
    """Yields the values from the file, the environment and the flags; later ones win."""
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
        if _is_service_link(variable, environment[variable]):
            continue
        if variable not in known:
            raise SettingInvalid(variable, "no such setting", _nearest(variable, known))
        setting = known[variable]
        value = setting.convert(environment[variable], variable, text=True)
        yield setting.name, (value, variable)


def _is_service_link(variable: str, value: str) -> bool:
    """Whether Kubernetes has set the variable to tell where a Service is."""
    if _LINKED_PORT.fullmatch(variable) and _LINKED_ADDRESS.fullmatch(value):
        return True
    return _SERVICE_LINK.fullmatch(variable) is not None


def _from_file(path: Path) -> Iterator[_Found]:
    known = {setting.name: setting for setting in all_settings()}
    remedy = f"name another file with {FILE_FLAG} or {FILE_VARIABLE}"
    for name, value in _flattened(read_toml(path, remedy)):
        place = f"{path}: {name}"
        if name not in known:
            raise SettingInvalid(place, "no such setting", _nearest(name, known))
        yield name, (known[name].convert(value, place, text=False), str(path))


def read_toml(path: Path, remedy: str) -> dict[str, Any]:
    """Read a TOML file. `remedy` is the advice for a file that cannot be opened."""
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
    return f"did you mean {near[0]}?" if near else "`dovemq doctor --settings` lists all settings"


def _tree(values: Mapping[str, Any]) -> Settings:
    """Build the tree from values by dotted names."""
    http = {
        name.removeprefix("http."): value
        for name, value in values.items()
        if name.startswith("http.")
    }
    top = {name: value for name, value in values.items() if "." not in name}
    return Settings(**top, http=HttpSettings(**http))


def _check(settings: Settings, sources: Mapping[str, str]) -> None:
    """Check the rules that involve several settings."""
    for host in (settings.host, settings.admin_host_chosen):
        if settings.insecure_no_auth and not is_loopback(host):
            raise SettingInvalid(
                sources["insecure_no_auth"],
                f"{host} can be reached from other machines",
                "use a loopback host, or leave signatures checked",
            )
    if settings.admin and settings.admin_port_chosen > PORT_MAX:
        raise SettingInvalid(
            sources["port"], "no port is left for the admin API", "set admin_port, or a lower port"
        )
    if settings.port and settings.admin and settings.admin_port_chosen == settings.port:
        raise SettingInvalid(
            sources["admin_port"], f"{settings.port} is the SQS port", "choose another port"
        )
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        place = sources.get("tls_certificate") or sources["tls_key"]
        raise SettingInvalid(
            place, "a certificate needs its key, and a key its certificate", "set both or none"
        )
    if settings.trace is not None:
        try:
            parse_location(settings.trace)
        except LocationInvalid as error:
            raise SettingInvalid(sources["trace"], error.found, error.remedy) from None
    try:
        _ = settings.proxy_networks
    except ValueError as error:
        raise SettingInvalid(
            sources["trusted_proxies"], str(error), "separate addresses and networks with commas"
        ) from None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def reachable_host(host: str) -> str:
    """The host in a URL that reaches a listener from this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host
