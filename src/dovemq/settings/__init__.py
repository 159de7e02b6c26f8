"""The settings of a server: their names, defaults and bounds, and where each value came from.

This package builds nothing: `bootstrap` does that from the settings.
"""

from dovemq.settings.resolving import (
    FILE_FLAG,
    Resolved,
    default_directory,
    reachable_host,
    read_toml,
    resolve,
)
from dovemq.settings.tree import (
    ACCOUNT,
    CACHE_BYTES_MAX,
    DeclarationInvalid,
    HttpSettings,
    Network,
    Setting,
    SettingInvalid,
    Settings,
    all_settings,
)

__all__ = [
    "ACCOUNT",
    "CACHE_BYTES_MAX",
    "FILE_FLAG",
    "DeclarationInvalid",
    "HttpSettings",
    "Network",
    "Resolved",
    "Setting",
    "SettingInvalid",
    "Settings",
    "all_settings",
    "default_directory",
    "reachable_host",
    "read_toml",
    "resolve",
]
