"""Locations of files: a path on this machine, or a URI of another file system.

URIs that hold a password or a key are refused, because commands and logs show locations.
"""

import re
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from msgspec import Struct

FILE: Final = "file"
OBJECT_STORES: Final = ("abfs", "abfss", "gcs", "gs", "s3")
SCHEMES: Final = (*OBJECT_STORES, FILE, "hdfs", "viewfs")
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SECRET_OPTION: Final = re.compile(r"key|secret|password|token|\Asig\Z", re.IGNORECASE)
_ANONYMOUS: Final = "anonymous@"
"""Means to Arrow that no key is needed; only Google's storage accepts it."""


class LocationInvalid(ValueError):
    """The text is no location. Settings and commands turn it into errors of their own."""

    def __init__(self, found: str, remedy: str) -> None:
        super().__init__(f"{found}; {remedy}")
        self.found = found
        self.remedy = remedy


class Location(Struct, frozen=True):
    """`directory` is None if the files are not on this machine."""

    text: str
    scheme: str
    directory: Path | None = None

    def __str__(self) -> str:
        return self.text if self.directory is None else str(self.directory.absolute())


def parse_location(text: str) -> Location:
    """Read a location; a text without a scheme is a path on this machine."""
    found = _URI.match(text)
    if found is None:
        if not text:
            raise LocationInvalid("it is empty", "name a directory or a URI")
        return Location(text, FILE, Path(text).expanduser())
    scheme = found[1].lower()
    try:
        parts = urlsplit(text)
        parts = parts._replace(scheme=scheme)
        holds_secret = _holds_secret(parts)
    except ValueError:
        # Its text is left out: it may hold a key in a place where none is expected.
        raise LocationInvalid(
            f"this is not a URI of {scheme}", "write scheme://place/folder"
        ) from None
    if holds_secret:
        raise LocationInvalid(
            "the URI holds a password or a key",
            "leave it out, and give it by the environment or the configuration of the machine",
        )
    if scheme not in SCHEMES:
        known = ", ".join(SCHEMES)
        hint = "write s3:// here" if scheme in ("s3a", "s3n") else f"write one of {known}"
        raise LocationInvalid(f"{scheme}:// is not known", hint)
    if scheme == FILE:
        return _on_this_machine(text, parts)
    return Location(text, scheme)


def _on_this_machine(text: str, parts: SplitResult) -> Location:
    if parts.netloc not in ("", "localhost") or parts.query or len(parts.path) < 2:
        raise LocationInvalid(f"{text} names no directory of this machine", "write file:///path")
    return Location(text, FILE, Path(unquote(parts.path)))


def _holds_secret(parts: SplitResult) -> bool:
    """A key may have a slash and so continue in the path: `@` is searched in both."""
    if parts.password is not None:
        return True
    options = parse_qsl(parts.query, keep_blank_values=True)
    if any(_SECRET_OPTION.search(name) for name, _ in options):
        return True
    if parts.scheme in ("abfs", "abfss", "hdfs", "viewfs"):
        return False
    place = (parts.netloc + parts.path).removeprefix(_ANONYMOUS)
    return "@" in place
