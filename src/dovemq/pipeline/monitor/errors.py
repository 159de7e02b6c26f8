"""What stops a monitor.

PipelineError
├── PlaceTaken      another process holds the directory
├── PlaceUnfit      the directory was begun otherwise, or lacks something
└── MonitorFailed   Spark could not go on
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
        super().__init__(f"{directory}: {found}; begin anew in another directory, named by --out")
        self.directory = directory
        self.found = found


class MonitorFailed(PipelineError):
    def __init__(self, found: str) -> None:
        super().__init__(f"the monitor has stopped: {found}; started again, it goes on from there")
        self.found = found
