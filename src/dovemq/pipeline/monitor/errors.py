"""Errors of the monitor.

PipelineError
├── PlaceTaken      another process holds the directory
├── PlaceUnfit      the directory has other terms, or lacks something
└── MonitorFailed   the query has stopped
"""

from pathlib import Path

from dovemq.pipeline.errors import PipelineError


class PlaceTaken(PipelineError):
    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"{directory} is used by another monitor: stop it, or name another by --out"
        )
        self.directory = directory


class PlaceUnfit(PipelineError):
    def __init__(self, directory: Path, found: str) -> None:
        super().__init__(f"{directory}: {found}; start in another directory, named by --out")
        self.directory = directory
        self.found = found


class MonitorFailed(PipelineError):
    def __init__(self, found: str) -> None:
        super().__init__(f"the monitor has stopped: {found}; start it again to continue")
        self.found = found
