"""Errors of a sweep.

PipelineError
├── LedgerOfAnother    the folder holds another sweep
├── LedgerTaken        another process works in the folder
├── LedgerUnreadable   a file of the folder cannot be read
└── ReplicationFailed  a model cannot be run, or Spark failed
"""

from pathlib import Path

from dovemq.pipeline.errors import PipelineError


class LedgerOfAnother(PipelineError):
    def __init__(self, folder: Path, differs: str) -> None:
        super().__init__(
            f"{folder} holds another sweep ({differs} differs): name another folder by --out, "
            "or remove this one"
        )
        self.folder = folder
        self.differs = differs


class LedgerTaken(PipelineError):
    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: another sweep uses this folder; wait for it, or end it")
        self.folder = folder


class LedgerUnreadable(PipelineError):
    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be read ({reason}): remove it to run its rows again")
        self.path = path
        self.reason = reason


class ReplicationFailed(PipelineError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"a replication failed; finished ones are kept. {reason}")
        self.reason = reason
