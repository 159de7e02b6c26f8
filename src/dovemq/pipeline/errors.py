"""Errors of the pipeline.

PipelineError
├── EventColumnsMissing  a DataFrame without the columns of a trace
├── FolderTaken          another process uses the folder of a monitor or sweep
├── FolderUnfit          the folder belongs to another monitor or sweep, or is damaged
├── JavaUnfit            no Java that Spark can run on
├── PlaceRemote          DuckDB cannot use a place on another storage
├── PythonUnset          Spark would run a Python that may lack this package
├── SparkMissing         the extra is not installed
├── StorageFailed        Spark cannot use the storage of a place
├── TraceDamaged         a file of a trace that cannot be read to its end
└── TracesMissing        a place without a trace
"""

from collections.abc import Sequence
from pathlib import Path

from dovemq.core.errors import DoveError
from dovemq.system.extras import extra_missing


class PipelineError(DoveError):
    """The base of all errors of the pipeline; never raised itself."""


class FolderTaken(PipelineError):
    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} is used by another monitor or sweep: wait for it, stop it, or name another "
            "folder by --out"
        )


class FolderUnfit(PipelineError):
    def __init__(self, folder: Path, found: str) -> None:
        super().__init__(f"{folder}: {found}; name another folder by --out, or remove this one")


class JavaUnfit(PipelineError):
    def __init__(self, found: str, versions: Sequence[int]) -> None:
        needed = " or ".join(map(str, versions))
        super().__init__(
            f"Spark needs Java {needed}, but {found}: install openjdk-{versions[0]}-jre-headless "
            "(Debian, Ubuntu) or another JDK of that version, or name one by JAVA_HOME"
        )


class PythonUnset(PipelineError):
    def __init__(self, chosen: str, running: str) -> None:
        super().__init__(
            f"Spark would run {chosen}, and this program runs {running}: before the session "
            "starts, set PYSPARK_PYTHON to a Python with dovemq[spark] on the driver and all "
            "executors"
        )


class SparkMissing(PipelineError):
    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is not installed; {extra_missing('spark')}")


class StorageFailed(PipelineError):
    def __init__(self, places: Sequence[str], reason: str) -> None:
        super().__init__(
            f"Spark cannot use {', '.join(places)}: {reason}; docs/how-to/spark-cluster.md "
            "describes what it needs for HDFS and S3"
        )


class TraceDamaged(PipelineError):
    """A file cannot be read to its end; `file` is a path or a URI."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file} is damaged: {reason}; move it away to read the other files")


class PlaceRemote(PipelineError):
    def __init__(self, place: str) -> None:
        super().__init__(
            f"{place} is not on this machine, and DuckDB reads and writes only files that are: "
            "use --engine spark"
        )


class EventColumnsMissing(PipelineError):
    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"the events have no column {', '.join(names)}: they must have the columns of a "
            "lifecycle trace (docs/reference/trace.md)"
        )


class TracesMissing(PipelineError):
    def __init__(self, places: Sequence[str]) -> None:
        super().__init__(
            f"no trace (*.parquet) in {', '.join(places)}: name a directory that dovemq serve "
            "--trace or dovemq load run --trace has written, or its URI"
        )
