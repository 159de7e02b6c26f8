"""The optional packages of DoveMQ, and the one line that installs them."""

from collections.abc import Mapping
from typing import Final

DISK_SIZES: Final[Mapping[str, str]] = {
    "trace": "250 MB",
    "models": "700 MB",
    "spark": "1.4 GB",
    "cassandra": "30 MB",
    "postgresql": "12 MB",
    "redis": "8 MB",
    "mqtt": "1 MB",
    "top": "23 MB",
    "otel": "14 MB",
    "kubernetes": "800 MB",
    "keda": "730 MB",
    "all": "1.6 GB",
}
"""Disk space that each extra takes, with everything that it brings along."""


def install_line(extra: str) -> str:
    """The command that installs an extra in a clone of the repository."""
    return f"make setup EXTRAS={extra}"


def extra_missing(extra: str) -> str:
    """The remedy for a package that is not installed, for the end of an error message."""
    return (
        f"install the extra {extra!r} ({DISK_SIZES[extra]}): run `{install_line(extra)}` in your "
        "clone of DoveMQ"
    )
