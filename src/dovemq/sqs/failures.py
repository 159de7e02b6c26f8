"""What is logged of a failure that nobody foresaw."""

import logging
import traceback

from dovemq.core.errors import InvariantError


def log_failure(
    log: logging.Logger, what: str, error: BaseException, request_id: str | None = None
) -> None:
    """Kind and place, without the text of errors not ours: that may hold what a client sent."""
    kind = type(error).__name__
    said = f"{kind}: {error}" if isinstance(error, InvariantError) else kind
    place = "".join(traceback.format_tb(error.__traceback__))
    fields = {"kind": kind, "place": place, "request_id": request_id}
    log.error("%s: %s", what, said, extra=fields)
