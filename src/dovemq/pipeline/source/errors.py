"""What stops a read or a write of queues by Spark.

PipelineError
├── OptionRefused     an option is missing, unknown, or of a wrong value
├── ColumnsRefused    a table that cannot be read from or written to a queue
├── StagingBusy       another query has the staging location
├── StagingStrange    it belongs to another queue or checkpoint
└── RowsRefused       the queue did not take all rows
"""

from collections.abc import Sequence
from pathlib import Path

from dovemq.pipeline.errors import PipelineError


class OptionRefused(PipelineError):
    """Without the value, which may be a secret."""

    def __init__(self, name: str, found: str) -> None:
        super().__init__(f"option {name} {found}")
        self.name = name


class ColumnsRefused(PipelineError):
    def __init__(self, found: str, columns: Sequence[str]) -> None:
        super().__init__(f"{found}; there are {', '.join(columns)}")


class StagingBusy(PipelineError):
    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} is used by another query: give each query a stagingLocation of its own, "
            "or stop that one"
        )


class StagingStrange(PipelineError):
    def __init__(self, folder: Path, found: str) -> None:
        super().__init__(
            f"{folder}: {found}; a stagingLocation belongs to one queue and one checkpoint: "
            "use them together, or begin with new ones of both"
        )


class RowsRefused(PipelineError):
    """`reasons` name rows by their place in the partition, and never hold a body."""

    def __init__(self, queue: str, partition: int, reasons: Sequence[str], more: int) -> None:
        others = f" and {more} more" if more else ""
        super().__init__(
            f"{queue} refused rows of partition {partition}: {'; '.join(reasons)}{others}"
        )
        self.queue = queue
        self.partition = partition
