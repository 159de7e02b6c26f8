"""Responses: the streamed ones, the refusals that the server itself gives, and their encoding."""

from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from dovemq.http import HttpResponse

KEEP_ALIVE: Final = "Connection: keep-alive\r\n"
CLOSE: Final = "Connection: close\r\n"
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

SQS_METHODS: Final = {name.encode(): name for name in ("GET", "HEAD", "OPTIONS", "POST")}
ADMIN_METHODS: Final = {**SQS_METHODS, b"DELETE": "DELETE", b"PATCH": "PATCH", b"PUT": "PUT"}
_LINES: Final = {status.value: f"HTTP/1.1 {status} {status.phrase}\r\n" for status in HTTPStatus}


class StreamedResponse(Struct, frozen=True):
    """A response whose body is too large for memory: `read` returns its parts, `length` in all.

    `close` is called once, whatever happens to the client.
    """

    status: int
    content_type: str
    length: int
    read: Callable[[], Awaitable[bytes]]
    close: Callable[[], None]
    headers: tuple[tuple[str, str], ...] = ()


def encode_head(
    response: HttpResponse | StreamedResponse, length: int, connection: str, date: str
) -> bytes:
    extra = ""
    for name, value in response.headers:
        extra += f"{name}: {value}\r\n"
    return (
        f"{_LINES[response.status]}Content-Type: {response.content_type}\r\n"
        f"Content-Length: {length}\r\n"
        f"{extra}{connection}Date: {date}\r\n\r\n"
    ).encode("latin-1", "replace")


def refusal(status: HTTPStatus, reason: str, methods: Iterable[str]) -> HttpResponse:
    headers = (_allow(methods),) if status is HTTPStatus.METHOD_NOT_ALLOWED else ()
    return HttpResponse(status, "text/plain", f"{reason}\n".encode(), headers)


def options_answer(methods: Iterable[str]) -> HttpResponse:
    return HttpResponse(HTTPStatus.OK, "text/plain", b"", (_allow(methods),))


def _allow(methods: Iterable[str]) -> tuple[str, str]:
    return "Allow", ", ".join(methods)


def failure_answer() -> HttpResponse:
    return HttpResponse(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "text/plain",
        b"The server failed; the reason is in its log.\n",
    )
