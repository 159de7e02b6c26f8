"""What is logged of a failure that nobody foresaw."""

import logging
import traceback


def log_failure(log: logging.Logger, what: str, error: BaseException) -> None:
    """Kind and place, without the error's text: that may hold what a client sent."""
    place = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s: %s\n%s", what, type(error).__name__, place)
