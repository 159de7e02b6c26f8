"""One run of an experiment: its result and its files. A failure is a result, too."""

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dovemq.core.errors import DoveError
from dovemq.experiments.catalogue import Experiment
from dovemq.experiments.figure import Effort
from dovemq.experiments.provenance import Recorder
from dovemq.experiments.publishing import publish
from dovemq.experiments.results import FigureResult, result_of, write_result
from dovemq.models.errors import ModelError
from dovemq.system.extras import extra_missing

EXTRA_OF: Final = {"acsylla": "cassandra", "hiredis": "redis", "redis": "redis"}
"""The extras of packages that single figures need; all other packages are in `spark`."""

EXPECTED: Final = (DoveError, ModelError)
"""Errors whose text says what to do; the traceback of any other one is printed."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of one figure, and the files that were written."""

    result: FigureResult
    files: tuple[Path, ...]


def attempt(
    name: str,
    experiment: Experiment,
    effort: Effort,
    now_ms: Callable[[], int],
    folder: Path | None,
) -> Reproduction:
    """Runs an experiment, and writes its files if there is a directory for them."""
    recorder = Recorder(effort, now_ms)
    try:
        figure = experiment.run(effort)
    except Exception as error:
        if not isinstance(error, (*EXPECTED, ModuleNotFoundError)):
            traceback.print_exception(error, file=sys.stderr)
        failed = FigureResult(
            name, experiment.title, run=recorder.ended(), failed=_reason_of_failure(error)
        )
        return Reproduction(failed, () if folder is None else (write_result(failed, folder),))
    run = recorder.ended()
    files = () if folder is None else tuple(publish(name, figure, folder, run))
    names = [path.name for path in files if path.suffix != ".json"]
    return Reproduction(result_of(name, figure, run, names), files)


def _reason_of_failure(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        package = error.name.partition(".")[0]
        return f"{package} is not installed; {extra_missing(EXTRA_OF.get(package, 'spark'))}"
    return str(error) if isinstance(error, EXPECTED) else f"{type(error).__name__}: {error}"
