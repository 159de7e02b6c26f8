"""What is logged of a failure that nobody foresaw."""

import logging
import traceback

from dovemq.core.errors import InvariantError


def log_failure(log: logging.Logger, what: str, error: BaseException) -> None:
    """Kind and place, without the text of errors not ours: that may hold what a client sent."""
    kind = type(error).__name__
    said = f"{kind}: {error}" if isinstance(error, InvariantError) else kind
    place = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s: %s\n%s", what, said, place)
