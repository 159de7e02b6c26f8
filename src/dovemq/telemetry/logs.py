"""The form of the log: lines of text, or one JSON object a line, with the same contents.

This module owns the format and the line for each request. The log never contains headers, query or
body of a request, and of exceptions that are not ours only the type and the place.
"""

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

import msgspec

from dovemq.core.errors import DoveError, InvariantError

Format = Literal["text", "json"]

_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_FIELDS: Final = ("request_id", "operation", "account", "queue", "status", "ms", "peer")
"""Attributes of a log record that become fields of its JSON."""
_REQUEST: Final = (
    "%(request_id)s %(operation)s account=%(account)s queue=%(queue)s status=%(status)d "
    "ms=%(ms).3f peer=%(peer)s"
)
QUEUE_LENGTH_MAX: Final = 128

_requests = logging.getLogger("dovemq.requests")


def set_up_logs(level: str, form: Format, stream: TextIO = sys.stderr) -> None:
    output = logging.StreamHandler(stream)
    output.setFormatter(JsonLines() if form == "json" else TextLines(_TEXT))
    logging.basicConfig(level=level.upper(), handlers=[output], force=True)


class TextLines(logging.Formatter):
    """The standard format, with the place of a failure on the lines after it."""

    def format(self, record: logging.LogRecord) -> str:
        place = getattr(record, "place", None)
        text = super().format(record)
        return f"{text}\n{place}" if place else text


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in _FIELDS:
            value = getattr(record, name, None)
            if value is not None:
                line[name] = value
        line.update(_failure(record))
        return msgspec.json.encode(line).decode()


def _failure(record: logging.LogRecord) -> dict[str, str]:
    kind, place = getattr(record, "kind", None), getattr(record, "place", None)
    if kind is not None:
        return {"error": kind, "stack": place or ""}
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return {}
    said = f"{type(error).__name__}: {error}" if isinstance(error, DoveError) else ""
    return {
        "error": said or type(error).__name__,
        "stack": "".join(traceback.format_tb(error.__traceback__)),
    }


def log_request(
    request_id: str,
    operation: str,
    *,
    account: str | None,
    queue: str | None,
    status: int,
    ms: float,
    peer: str,
) -> None:
    """Log one request; of the client it has only the account and the address."""
    name = _shown(queue) if queue is not None else None
    fields = {
        "request_id": request_id,
        "operation": operation,
        "account": account,
        "queue": name,
        "status": status,
        "ms": round(ms, 3),
        "peer": peer,
    }
    shown = {**fields, "account": account or "-", "queue": name or "-"}
    _requests.info(_REQUEST, shown, extra=fields)


def _shown(queue: str) -> str:
    """The name for the log, on one line: a client may send any characters."""
    queue = queue[:QUEUE_LENGTH_MAX]
    return queue if queue.isprintable() else ascii(queue)


def log_failure(
    log: logging.Logger, what: str, error: BaseException, request_id: str | None = None
) -> None:
    """Log the type and the place of an unexpected failure.

    The text of an exception that is not ours is left out: it may contain data of a client.
    """
    kind = type(error).__name__
    said = f"{kind}: {error}" if isinstance(error, InvariantError) else kind
    place = "".join(traceback.format_tb(error.__traceback__))
    fields = {"kind": kind, "place": place, "request_id": request_id}
    log.error("%s: %s", what, said, extra=fields)
