"""What stops a job of the pipeline, beside what its data says.

PipelineError
├── JavaUnfit       no Java that Spark can run on
├── PythonUnset     Spark would run a Python that may lack this package
├── SparkMissing    the extra is not installed
├── TraceDamaged    a file of a trace that cannot be read to its end
└── TracesMissing   no trace where one was looked for
"""

from collections.abc import Sequence
from pathlib import Path

from dovemq.core.errors import DoveError


class PipelineError(DoveError):
    """The root; never raised itself."""


class JavaUnfit(PipelineError):
    def __init__(self, found: str, versions: Sequence[int]) -> None:
        needed = " or ".join(map(str, versions))
        super().__init__(
            f"Spark needs Java {needed}, and {found}: install openjdk-{versions[0]}-jre-headless "
            "(Debian, Ubuntu) or another JDK of that version, or name one by JAVA_HOME"
        )
        self.found = found
        self.versions = tuple(versions)


class PythonUnset(PipelineError):
    def __init__(self, chosen: str, running: str) -> None:
        super().__init__(
            f"Spark would run {chosen}, and this program runs {running}: set PYSPARK_PYTHON before "
            "the session begins to a Python with dovemq[spark] on the driver and all executors"
        )


class SparkMissing(PipelineError):
    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'dovemq[spark]'")
        self.package = package


class TraceDamaged(PipelineError):
    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is damaged: {reason}; without it the rest can be read")
        self.path = path


class TracesMissing(PipelineError):
    def __init__(self, places: Sequence[Path]) -> None:
        found = ", ".join(map(str, places))
        super().__init__(
            f"no trace (*.parquet) in {found}: name a directory of dovemq serve --trace or of "
            "dovemq load run --trace"
        )
        self.places = tuple(places)
