"""The real service under load, on this machine, with its lifecycle trace."""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dovemq.load.faults.process import ServerProcess
from dovemq.load.plan import Endpoint, Plan
from dovemq.load.run import run
from dovemq.pipeline.calibration.periods import Traced


class LoadFailed(RuntimeError):
    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"load {name} did not come to its end: {why}")


class Service:
    """A server process with a trace; it is stopped before the trace is read."""

    def __init__(self, folder: Path) -> None:
        self._trace = folder / "trace"
        # Signatures are no part of what is measured, and loopback alone is reached.
        args = ["--insecure-no-auth", "--trace", str(self._trace)]
        self._process = ServerProcess(folder / "data", args=args)

    def start(self) -> None:
        self._process.start()

    def stop(self) -> None:
        if self._process.running:
            self._process.stop()

    def load(self, name: str, **fields: Any) -> float:
        """Runs a plan to its end; answers the rate of its sends."""
        plan = Plan(endpoint=Endpoint(self._process.endpoint_url), name=name, **fields)
        result = asyncio.run(run(plan))
        if result.failed:
            raise LoadFailed(name, result.failure or "the account does not come out even")
        return result.figures["send rate"].median

    def traced(self, name: str) -> Traced:
        """What was written of a load's queue; once the server has stopped."""
        return Traced(self._trace, f"%/{name}-1-0")


@contextlib.contextmanager
def service() -> Iterator[Service]:
    """On a directory of its own, which goes with it."""
    with tempfile.TemporaryDirectory(prefix="dovemq-loop-") as folder:
        made = Service(Path(folder))
        made.start()
        try:
            yield made
        finally:
            made.stop()
