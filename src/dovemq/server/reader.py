"""Parses bytes into requests, in their order. It does no I/O and writes no answer.

Rules of this file:
- `ready` holds requests, and refusals as responses, in the order of their answers.
- A refusal is the last item; once `ended` is set nothing more is read.
- The memory of a client is bounded: the parts of a request are counted, and bytes that add
  nothing to a body (endless headers, trailers, chunk extensions) are bounded in total.
- Trailers are dropped: they must not be taken for signed headers.
"""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, NoReturn

from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserInvalidMethodError,
    HttpParserUpgrade,
    HttpRequestParser,
)

from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.answers import options_answer, refusal
from dovemq.server.headers import HeaderFields
from dovemq.server.limits import HttpLimits
from dovemq.server.proxies import ForwardedMalformed, Proxies
from dovemq.server.traffic import Traffic

SLICE_BYTES: Final = 8 << 10
"""Bytes parsed at a time; bounds how far many tiny requests can exceed `pipelined_max`."""
UNCHECKED_BODY_BYTES_MAX: Final = 64 << 10
"""A larger body, or one of unknown length, is read only after the headers were checked."""
_NO_BYTES: Final = memoryview(b"")
_ABSOLUTE: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


class _RefusedError(Exception):
    """Stops the parser from within a callback, after the refusal was added to `ready`."""


@dataclass(slots=True, eq=False, repr=False)
class RequestReader:
    """The requests of one connection. `_proxies` is set if the peer is a trusted proxy."""

    _traffic: Traffic
    _peer: str
    _secure: bool = False
    _proxies: Proxies | None = None
    ready: deque[HttpRequest | HttpResponse] = field(default_factory=deque)
    ended: bool = False
    refused: bool = False
    partial: bool = False
    last_wanted: bool = False
    continue_owed: bool = False
    keep_alive_asked: bool = False
    held_bytes: int = 0
    since_tick: int = 0
    on_header: Callable[[bytes, bytes], None] = field(init=False)
    _limits: HttpLimits = field(init=False)
    _proxy: tuple[str, bool] = field(init=False)
    _fields: HeaderFields = field(init=False)
    _parser: HttpRequestParser | None = None
    _rest: memoryview = _NO_BYTES
    _method: str = ""
    _headers: dict[str, str] = field(default_factory=dict)
    _url: bytes = b""
    _body: bytes | bytearray = b""
    _body_bytes: int = 0
    _counted_bytes: int = 0
    _stalled_bytes: int = 0
    _keep_alive: bool = True

    def __post_init__(self) -> None:
        self._limits = self._traffic.limits
        self._proxy = (self._peer, self._secure)
        self._fields = HeaderFields(self._traffic.known_names)
        self.on_header = self._fields.collector()
        self._parser = HttpRequestParser(self)

    @property
    def proxied(self) -> bool:
        """Whether the requests may come from several clients."""
        return self._proxies is not None

    @property
    def partial_bytes(self) -> int:
        return self._counted_bytes if self.partial and not self.ended else 0

    @property
    def full(self) -> bool:
        """Whether answers must be written before more is read."""
        ready = self.ready
        if not ready:
            return False
        limits = self._limits
        return len(ready) >= limits.pipelined_max or self.held_bytes > limits.body_bytes_max

    def feed(self, data: bytes) -> None:
        if self.ended:
            return
        if len(data) <= SLICE_BYTES and not self._rest:
            self._parse(data)
        else:
            self._rest = memoryview(bytes(self._rest) + data)
            self.read_on()

    def read_on(self) -> None:
        """Parse the bytes that were kept back while too many requests waited."""
        while self._rest and not self.full and not self.ended:
            piece, self._rest = self._rest[:SLICE_BYTES], self._rest[SLICE_BYTES:]
            self._parse(piece)

    def refuse(self, status: HTTPStatus, reason: str) -> None:
        self._end_with(refusal(status, reason, self._traffic.methods.values()))

    def _end_with(self, answer: HttpResponse) -> None:
        if not self.ended:
            self.ready.append(answer)
            self.ended = self.refused = True
            self.partial = self.continue_owed = False
            self._hold(-self._counted_bytes)
            self._counted_bytes = self._body_bytes = 0
            self._body = b""

    def release(self, request: HttpRequest) -> None:
        """Release the body of a request that was answered."""
        if self._parser is not None:
            self._hold(-len(request.body))

    def close(self) -> None:
        """Release all memory, and the reference cycle with the parser."""
        self._hold(-self.held_bytes)
        self.ended = True
        self.partial = False
        self._parser = None
        self._rest = _NO_BYTES
        self.ready.clear()
        self._begin()

    def speaks_http11(self) -> bool:
        return self._parser is not None and self._parser.get_http_version() == "1.1"

    def _parse(self, data: bytes | memoryview) -> None:
        parser = self._parser
        if parser is None or self.ended:
            return
        before_bytes = self._body_bytes
        try:
            parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # RFC 9110 §7.8: a server may ignore a request to upgrade.
            self._parse(memoryview(data)[upgrade.args[0] :])
            return
        except HttpParserCallbackError as error:
            if not self.ended:
                raise error.__context__ or error from None
        except HttpParserInvalidMethodError:
            self.refuse(HTTPStatus.BAD_REQUEST, "This is not an HTTP request.")
        except HttpParserError as error:
            self.refuse(HTTPStatus.BAD_REQUEST, f"The request is malformed: {error}.")
        if self.partial:
            self._count_partial(before_bytes, len(data))

    def _count_partial(self, before_bytes: int, length: int) -> None:
        limits = self._limits
        if self._body_bytes > before_bytes:
            self._stalled_bytes = 0
            self._hold(self._body_bytes - self._counted_bytes)
            self._counted_bytes = self._body_bytes
            return
        self._stalled_bytes += length
        if self._stalled_bytes > limits.url_bytes_max + limits.header_bytes_max + SLICE_BYTES:
            reason = f"The headers exceed {limits.header_bytes_max} bytes."
            self.refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, reason)

    def _hold(self, count: int) -> None:
        self.held_bytes += count
        self._traffic.held_bytes += count

    def _begin(self) -> None:
        self._url = b""
        self._stalled_bytes = self._body_bytes = self._counted_bytes = 0
        self._body = b""
        self._keep_alive = True
        self._fields.clear()

    # The methods from here on are called by the parser, as `on_header` is.

    def on_message_begin(self) -> None:
        if self.ended:
            raise _RefusedError
        self._begin()
        self.partial = True
        self.since_tick = self._traffic.tick

    def on_url(self, part: bytes) -> None:
        self._url += part
        if len(self._url) > self._limits.url_bytes_max:
            reason = f"The URL exceeds {self._limits.url_bytes_max} bytes."
            self._stop(HTTPStatus.REQUEST_URI_TOO_LONG, reason)

    def on_headers_complete(self) -> None:
        parser = self._parser
        assert parser is not None
        fields, limits = self._fields, self._limits
        if fields.count > limits.header_count_max:
            reason = f"There are more than {limits.header_count_max} headers."
            self._stop(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, reason)
        size_bytes, headers = fields.take()
        if size_bytes > limits.header_bytes_max:
            reason = f"The headers exceed {limits.header_bytes_max} bytes."
            self._stop(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, reason)
        method = self._traffic.methods.get(parser.get_method())
        if method is None:
            self._stop(HTTPStatus.METHOD_NOT_ALLOWED, "This method is not supported.")
        length = headers.get("content-length")
        # The parser accepts any number of zeros; Python refuses to read thousands of digits.
        length_bytes = 0 if length is None else int(length.lstrip("0") or 0)
        if length_bytes > limits.body_bytes_max:
            self._stop_too_long()
        if self._proxies is not None:
            headers = self._read_forwarded(headers, self._proxies)
        self._headers = headers
        self._method = method
        self._keep_alive = parser.should_keep_alive()
        if length_bytes > UNCHECKED_BODY_BYTES_MAX or (
            length is None and "transfer-encoding" in headers
        ):
            self._check_head()
        if "connection" in headers:
            self._read_connection(headers, parser)
        if "expect" in headers:
            self._read_expectation(headers["expect"])

    def on_body(self, part: bytes) -> None:
        total_bytes = self._body_bytes = self._body_bytes + len(part)
        if total_bytes > self._limits.body_bytes_max:
            self._stop_too_long()
        if not self._body:
            self._body = part
            return
        if isinstance(self._body, bytes):
            # Not a list of parts: each chunk of one byte would cost forty.
            self._body = bytearray(self._body)
        self._body += part

    def on_message_complete(self) -> None:
        self.partial = self.continue_owed = False
        self._hold(self._body_bytes - self._counted_bytes)
        if self._method == "OPTIONS":
            self._hold(-self._body_bytes)
            self.ready.append(options_answer(self._traffic.methods.values()))
        else:
            path, query = ("/", "") if self._url == b"/" else _path_and_query(self._url)
            body = self._body if type(self._body) is bytes else bytes(self._body)
            now_ns = self._traffic.now_ns
            read_ns = 0 if now_ns is None else now_ns()
            self.ready.append(
                HttpRequest(
                    self._method,
                    path,
                    query,
                    self._headers,
                    body,
                    self._peer,
                    self._secure,
                    read_ns,
                )
            )
        if not self._keep_alive or self.last_wanted:
            self.ended = True

    def _read_forwarded(self, headers: dict[str, str], proxies: Proxies) -> dict[str, str]:
        try:
            origin = proxies.origin(headers, *self._proxy)
        except ForwardedMalformed as error:
            self._stop(HTTPStatus.BAD_REQUEST, str(error))
        self._peer, self._secure = origin.peer, origin.secure
        # Clients sign the host that they connect to, which is the proxy's.
        return headers if origin.host is None else {**headers, "host": origin.host}

    def _check_head(self) -> None:
        check_head = self._traffic.check_head
        if check_head is not None:
            path, query = _path_and_query(self._url)
            answer = check_head(
                HttpRequest(self._method, path, query, self._headers, b"", self._peer, self._secure)
            )
            if answer is not None:
                self._end_with(answer)
                raise _RefusedError

    def _read_connection(self, headers: dict[str, str], parser: HttpRequestParser) -> None:
        self.keep_alive_asked = headers["connection"].lower() == "keep-alive"
        has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        if has_body and parser.should_upgrade():
            # The parser would read the body as data of the other protocol and drop it.
            self._stop(HTTPStatus.NOT_IMPLEMENTED, "A request with a body cannot be upgraded.")

    def _read_expectation(self, expectation: str) -> None:
        if expectation.lower() != "100-continue":
            self._stop(HTTPStatus.EXPECTATION_FAILED, "Only 100-continue can be expected.")
        self.continue_owed = self.speaks_http11()

    def _stop_too_long(self) -> NoReturn:
        reason = f"The body exceeds {self._limits.body_bytes_max} bytes."
        self._stop(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)

    def _stop(self, status: HTTPStatus, reason: str) -> NoReturn:
        self.refuse(status, reason)
        raise _RefusedError


def _path_and_query(url: bytes) -> tuple[str, str]:
    """The path and query of a URL, also of an absolute one; a fragment is dropped."""
    text = url.decode("latin-1")
    if not text.startswith("/"):
        text = _ABSOLUTE.sub("", text)
        if text[:1] in ("", "?"):
            text = "/" + text
    path, _, query = text.partition("#")[0].partition("?")
    return path, query
