"""Errors of reading and writing queues with Spark.

PipelineError
├── OptionRefused     an option is missing, unknown, or has an invalid value
├── ColumnsRefused    a table that cannot be read from or written to a queue
├── QueueFailed       a request to the queue failed
├── StagingBusy       another query uses the staging location
├── StagingStrange    it belongs to another queue or checkpoint
├── StagingUnfit      it cannot be used safely
└── RowsRefused       the queue refused rows
"""

from collections.abc import Sequence
from typing import Final

from dovemq.client.errors import ClientError, Refused, TimedOut, Unreachable
from dovemq.pipeline.errors import PipelineError

_FORBIDDEN: Final = 403


class OptionRefused(PipelineError):
    """An option is invalid. The text leaves out its value, which may be a secret."""

    def __init__(self, name: str, found: str) -> None:
        super().__init__(f"option {name} {found}")


class ColumnsRefused(PipelineError):
    def __init__(self, found: str, columns: Sequence[str]) -> None:
        super().__init__(f"{found}; there are {', '.join(columns)}")


class QueueFailed(PipelineError):
    """One sentence, because Spark shows it at the end of its stack traces."""

    def __init__(self, queue: str, endpoint_url: str, error: ClientError) -> None:
        super().__init__(f"queue {queue} at {endpoint_url} {_finding(error, endpoint_url)}")


class StagingBusy(PipelineError):
    def __init__(self, location: str) -> None:
        super().__init__(
            f"{location} is used by another query: give each query a stagingLocation of its own, "
            "or stop that one"
        )


class StagingStrange(PipelineError):
    def __init__(self, location: str, found: str) -> None:
        super().__init__(
            f"{location}: {found}; a stagingLocation belongs to one queue and one checkpoint: "
            "use them together, or start with new ones of both"
        )


class StagingUnfit(PipelineError):
    def __init__(self, location: str, found: str) -> None:
        super().__init__(f"{location} cannot be a stagingLocation: {found}")


class RowsRefused(PipelineError):
    """`reasons` name rows by their number in the partition, and have no body."""

    def __init__(self, queue: str, partition: int, reasons: Sequence[str], more: int) -> None:
        others = f" and {more} more" if more else ""
        super().__init__(
            f"{queue} refused rows of partition {partition}: {'; '.join(reasons)}{others}"
        )


def _finding(error: ClientError, endpoint_url: str) -> str:
    text = str(error).removeprefix(f"{endpoint_url}: ")
    if isinstance(error, Unreachable | TimedOut):
        return f"cannot be reached: {text}"
    if isinstance(error, Refused):
        if "NonExistentQueue" in error.code or "QueueDoesNotExist" in error.code:
            return "does not exist: create it, or correct the option queue"
        if error.status == _FORBIDDEN or "AccessDenied" in error.code:
            return f"denied access: {text}"
    return f"failed: {text}"
