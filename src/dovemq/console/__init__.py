"""The web console: static pages that ask the admin API from the browser.

Owns the files and how they are served. It has no door of its own: what a page shows or does is a
request of the browser to the admin API, with the session of its user.
"""

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, TypeVar

from msgspec import Struct

from dovemq.http import HttpRequest, HttpResponse

ROOT: Final = "/console/"
_INDEX: Final = "index.html"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_METHODS: Final = ("GET", "HEAD")
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-cache"),
    ("Vary", "Accept-Encoding"),
)

T = TypeVar("T")


class Asset(Struct, frozen=True):
    content_type: str
    body: bytes
    packed: bytes
    tag: str


class Console:
    """Serves the files of the console, which are read once."""

    def __init__(self) -> None:
        folder = files("dovemq.console") / "assets"
        self._assets = dict(_read(folder, ""))

    @property
    def names(self) -> list[str]:
        return sorted(self._assets)

    def around(
        self, handle: Callable[[HttpRequest], Awaitable[T]]
    ) -> Callable[[HttpRequest], Awaitable[T | HttpResponse]]:
        """The handler, with the console beside it. A browser that asks for `/` is sent there."""

        async def served(request: HttpRequest) -> T | HttpResponse:
            if request.path.startswith(ROOT):
                return self.answer(request)
            if request.path == ROOT.rstrip("/") or _is_browser_at_root(request):
                return HttpResponse(HTTPStatus.FOUND, "text/plain", b"", (("Location", ROOT),))
            return await handle(request)

        return served

    def answer(self, request: HttpRequest) -> HttpResponse:
        asset = self._assets.get(request.path[len(ROOT) :] or _INDEX)
        if asset is None:
            text = b"The console has no such file.\n"
            return HttpResponse(HTTPStatus.NOT_FOUND, "text/plain", text, _HEADERS)
        if request.method not in _METHODS:
            text = b"Files of the console can only be read.\n"
            return HttpResponse(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", text, _HEADERS)
        headers: tuple[tuple[str, str], ...] = (*_HEADERS, ("ETag", asset.tag))
        if asset.tag in request.headers.get("if-none-match", ""):
            return HttpResponse(HTTPStatus.NOT_MODIFIED, asset.content_type, b"", headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers = (*headers, ("Content-Encoding", "gzip"))
            return HttpResponse(HTTPStatus.OK, asset.content_type, asset.packed, headers)
        return HttpResponse(HTTPStatus.OK, asset.content_type, asset.body, headers)


def _is_browser_at_root(request: HttpRequest) -> bool:
    return (
        request.path == "/"
        and request.method in _METHODS
        and "text/html" in request.headers.get("accept", "")
    )


def _read(folder: Traversable, prefix: str) -> list[tuple[str, Asset]]:
    """All files below a folder, by their names in URLs."""
    found: list[tuple[str, Asset]] = []
    for each in folder.iterdir():
        name = prefix + each.name
        if each.is_dir():
            found += _read(each, f"{name}/")
            continue
        content_type = _TYPES.get("." + name.rpartition(".")[2])
        if content_type is not None:
            body = each.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
            packed = gzip.compress(body, mtime=0)
            found.append((name, Asset(content_type, body, packed, tag)))
    return found
