"""Places of traces and tables: URIs that Spark knows, and paths of this machine."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from dovemq.pipeline.errors import PlaceRemote


def uri_of(place: str) -> str:
    """A place with a scheme stays as it is; a plain path is one of this machine."""
    return place if _scheme(place) else Path(place).absolute().as_uri()


def local_path(place: str) -> Path | None:
    """The path on this machine; None for a place on another storage."""
    scheme = _scheme(place)
    if not scheme:
        return Path(place)
    parts = urlsplit(place)
    return Path(unquote(parts.path)) if scheme == "file" else None


def path_here(place: str) -> Path:
    """The path on this machine, for what can be read and written only there."""
    path = local_path(place)
    if path is None:
        raise PlaceRemote(place)
    return path


def joined(place: str, name: str) -> str:
    return f"{place.rstrip('/')}/{name}"


def _scheme(place: str) -> str:
    """Empty for a path, also for one with a colon in a later part."""
    head, found, _ = place.partition(":")
    is_scheme = found and head[:1].isalpha() and head.replace("+", "").replace("-", "").isalnum()
    return head.lower() if is_scheme and place[len(head) + 1 :].startswith("/") else ""
