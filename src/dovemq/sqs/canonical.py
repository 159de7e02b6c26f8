"""The canonical form of a request for Signature Version 4, and the computation of a signature.

Texts of a request were decoded as latin-1, so that encoding them gives the bytes that the signer
saw, whatever charset it used.
"""

import datetime
import hmac
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Final
from urllib.parse import quote, unquote_to_bytes

ALGORITHM: Final = "AWS4-HMAC-SHA256"
TERMINATOR: Final = "aws4_request"

_DATE: Final = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
_DATE_FORM: Final = "%Y%m%dT%H%M%SZ"
_UNRESERVED: Final = "-_.~"
_BLOCK_BYTES: Final = 64
_INNER_PAD: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD: Final = bytes(byte ^ 0x5C for byte in range(256))
_WHITE_SPACE: Final = re.compile(r"[ \t]+")


class SignedHeaders:
    """The names of the signed headers in their order. A client signs the same ones each time."""

    __slots__ = ("_form", "_names", "_values_in", "text")

    def __init__(self, names: Sequence[str]) -> None:
        self.text = ";".join(names)
        self._names = tuple(names)
        escaped = [name.replace("%", "%%") for name in names]
        self._form = "".join([f"{name}:%s\n" for name in escaped]) + "\n" + ";".join(escaped)
        self._values_in = itemgetter(*names)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def canonical(self, headers: Mapping[str, str]) -> str:
        """A line for each header, with white space in values normalised, and then the names."""
        try:
            text: str = self._form % self._values_in(headers)
        except KeyError:
            return self._tidied(headers)
        # Values hardly ever need this, and one look at all of them is cheaper than one at each.
        if "  " in text or ": " in text or " \n" in text or "\t" in text:
            return self._tidied(headers)
        return text

    def _tidied(self, headers: Mapping[str, str]) -> str:
        values = [_WHITE_SPACE.sub(" ", headers.get(name, "").strip(" \t")) for name in self._names]
        return self._form % tuple(values)


def canonical_request(
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    signed: SignedHeaders,
    body: bytes,
) -> bytes:
    """`query` is canonical already."""
    top = canonical_top(method, path, query)
    return f"{top}{signed.canonical(headers)}\n{sha256(body).hexdigest()}".encode(
        "latin-1", "replace"
    )


def canonical_top(method: str, path: str, query: str) -> str:
    """The lines above the headers; `query` is canonical already."""
    canonical = path if path == "/" else canonical_path(path)
    return f"{method}\n{canonical}\n{query}\n"


def canonical_path(path: str) -> str:
    """The path without dot segments and empty segments, encoded once more."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment and segment != ".":
            kept.append(segment)
    normal = "/" + "/".join(kept)
    if kept and segments[-1] in ("", ".", ".."):
        normal += "/"
    return quote(normal.encode("latin-1", "replace"), safe="/" + _UNRESERVED)


def canonical_query(query: str, omit: str = "") -> str:
    """The parameters in order and in one encoding, without the parameter named `omit`."""
    pairs = []
    for part in query.split("&"):
        if not part:
            continue
        name, _, value = part.partition("=")
        if name != omit:
            pairs.append((_encoded(name), _encoded(value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


class SigningKey:
    """The signing key of a scope `date/region/service/aws4_request`.

    It keeps the two keyed hash states of HMAC: copying them takes a fraction of the time of
    `hmac.digest`, which looks its algorithm up each time.
    """

    __slots__ = ("_inner", "_outer", "_scope")

    def __init__(self, secret: str, scope: str) -> None:
        key = b"AWS4" + secret.encode("utf-8")
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode("latin-1", "replace"), "sha256")
        padded = key.ljust(_BLOCK_BYTES, b"\0")
        self._inner = sha256(padded.translate(_INNER_PAD))
        self._outer = sha256(padded.translate(_OUTER_PAD))
        self._scope = scope

    def signature(self, date: str, canonical: bytes) -> str:
        to_sign = f"{ALGORITHM}\n{date}\n{self._scope}\n{sha256(canonical).hexdigest()}"
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(to_sign.encode("latin-1", "replace"))
        outer.update(inner.digest())
        return outer.hexdigest()


def date_text(time_ms: int) -> str:
    moment = datetime.datetime.fromtimestamp(time_ms / 1_000, datetime.UTC)
    return moment.strftime(_DATE_FORM)


def date_ms(text: str) -> int | None:
    """The time of a text like `20150830T123600Z`; None for any other form."""
    if not _DATE.fullmatch(text):
        return None
    try:
        moment = datetime.datetime.strptime(text, "%Y%m%dT%H%M%S%z")
    except ValueError:
        return None
    return round(moment.timestamp() * 1_000)


def _encoded(text: str) -> str:
    # A plus is a space to all that read a query: signed as anything else, `a%2Bb` and `a+b` would
    # have one signature and two meanings.
    given = text.replace("+", " ").encode("latin-1", "replace")
    return quote(unquote_to_bytes(given), safe=_UNRESERVED)
