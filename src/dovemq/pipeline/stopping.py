"""Stops the work of Spark for this process, from any thread and at any time."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SPARK_SHELL: Final = "pyspark-shell"
"""Part of the command line of the Java process that PySpark starts."""


def stop_spark(*, kill: bool) -> None:
    """Cancels Spark's jobs, or ends its Java process while it is starting or if `kill` is set.

    It may be called often, also if Spark was never used.
    """
    if "pyspark" not in sys.modules:
        return
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    # PySpark has no public way to find a session without waiting for one that is starting.
    context = SparkContext._active_spark_context
    starting = SparkContext._gateway is None or (context and not hasattr(context, "_jsc"))
    if starting or kill:
        for pid, command in children():
            if _SPARK_SHELL in command:
                send(pid, signal.SIGKILL if kill else signal.SIGTERM)
    elif context is not None:
        # The session may be stopping at the same time.
        with contextlib.suppress(Py4JError, AttributeError, OSError):
            context.cancelAllJobs()


def send(pid: int, number: signal.Signals) -> None:
    """Sends a signal; does nothing if the process is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def children(parent: int | None = None) -> Iterator[tuple[int, str]]:
    """Yields the child processes of a process, or of this one, with their commands; none if there
    is no /proc."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            found = stat.read_text(errors="replace").rpartition(")")[2].split()[1]
            if int(found) == (parent or os.getpid()):
                yield int(stat.parent.name), (stat.parent / "cmdline").read_text(errors="replace")
