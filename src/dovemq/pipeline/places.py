"""Places of traces and tables: URIs for Spark, and paths on this machine."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from dovemq.pipeline.errors import PlaceRemote


def uri_of(place: str) -> str:
    """Returns the URI of a place; a path without a scheme is on this machine."""
    return place if _scheme(place) else Path(place).absolute().as_uri()


def local_path(place: str) -> Path | None:
    """Returns the path on this machine, or None for a place on another storage."""
    scheme = _scheme(place)
    if not scheme:
        return Path(place)
    parts = urlsplit(place)
    return Path(unquote(parts.path)) if scheme == "file" else None


def path_here(place: str) -> Path:
    """Returns the path on this machine, and raises PlaceRemote if there is none."""
    path = local_path(place)
    if path is None:
        raise PlaceRemote(place)
    return path


def _scheme(place: str) -> str:
    """Returns an empty text for a path, also for one with a colon in a later part."""
    head, found, _ = place.partition(":")
    is_scheme = found and head[:1].isalpha() and head.replace("+", "").replace("-", "").isalnum()
    return head.lower() if is_scheme and place[len(head) + 1 :].startswith("/") else ""
