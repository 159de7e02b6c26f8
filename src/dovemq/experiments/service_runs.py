"""The real service under load, on this machine, with its lifecycle trace."""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence, Set
from pathlib import Path
from statistics import median
from typing import Any, Final, Protocol

from dovemq.core.locations import Location, parse_location
from dovemq.experiments.processors import Look, Watched, awake, divided, on
from dovemq.load.costs import STOLEN_SHARE_MAX, Undisturbed, tree_cpu_seconds
from dovemq.load.faults.process import ServerProcess
from dovemq.load.plan import Endpoint, LoadPlan, Phases
from dovemq.load.results import LoadResult
from dovemq.load.run import RECEIVING, Live, run
from dovemq.pipeline.calibration.periods import Traced

RAM_DISK: Final = Path("/dev/shm")
"""A disk that others share may stall for seconds, which no model of the service knows."""
LOOK_SECONDS: Final = 0.05
WAITING_STOLEN_SHARE_MAX: Final = 0.05
"""Where most of the time is waiting, more of the processors can be taken."""
SPEED_SHARE_MIN: Final = 0.96
"""Of that which its processor mostly had, for a front end that is kept busy."""
RESTING_SHARE_MAX: Final = 0.1
"""Of a processor, for a server that has nothing left to do."""
REST_LOOKS_MAX: Final = 600


class LoadFailed(RuntimeError):
    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"load {name} did not come to its end: {why}")


class Act(Protocol):
    """Does what a plan says, or some of it."""

    def __call__(
        self, plan: LoadPlan, *, journals: Path, traces: Location
    ) -> Coroutine[Any, Any, LoadResult]: ...


class Service:
    """A server process with a trace; it is stopped before the trace is read."""

    def __init__(self, folder: Path, processors: Set[int], looks: Mapping[int, Look]) -> None:
        """`looks` at all processors, its own among them."""
        self._folder, self._trace, self._seen = folder, folder / "trace", folder / "seen"
        # Signatures are no part of what is measured, and loopback alone is reached.
        args = ["--insecure-no-auth", "--trace", str(self._trace)]
        self._process = ServerProcess(folder / "data", args=args)
        self._processors = processors
        self._looks = looks
        self._speeds: list[float] = []
        self._attempts: dict[str, int] = {}
        self._quiet: set[str] = set()

    def start(self) -> None:
        with on(self._processors):
            self._process.start()

    def stop(self) -> None:
        """Not before it rests: what is left to do would be done after the next start."""
        self._rest()
        self._process.stop()

    def end(self) -> None:
        """At once, if it runs."""
        if self._process.running:
            self._process.stop()

    def load(self, name: str, **fields: Any) -> None:
        """A plan of work that waits, to its end."""
        self._run(name, run, fields, busy=False)

    def send(self, name: str, **fields: Any) -> None:
        """As much of a plan as is sends; the messages go with their queue."""
        self._run(name, _sent, {**fields, "phases": Phases.APART}, busy=True)

    def _run(self, name: str, act: Act, fields: Mapping[str, Any], *, busy: bool) -> None:
        """Again if it was disturbed; the last attempt counts."""
        attempts = Undisturbed(STOLEN_SHARE_MAX if busy else WAITING_STOLEN_SHARE_MAX)
        for attempt in attempts:
            self._attempts[name] = attempt
            self._rest()
            plan = self._plan(name, fields)
            before = {each: look() for each, look in self._looks.items()}
            with tempfile.TemporaryDirectory(dir=self._folder) as journals:
                traces = parse_location(str(self._seen / plan.name))
                doing = act(plan, journals=Path(journals), traces=traces)
                result = asyncio.run(doing)
            if result.failed:
                raise LoadFailed(name, result.failure or "the account does not come out even")
            if busy and self._was_slowed(before):
                attempts.spoil()
        if attempts.reached:
            self._quiet.add(name)

    def _was_slowed(self, before: Mapping[int, Watched]) -> bool:
        since = {each: look().since(before[each]) for each, look in self._looks.items()}
        speed = min(since[each].speed for each in self._processors)
        self._speeds.append(speed)
        paused = any(each.pauses for each in since.values())
        return paused or speed < SPEED_SHARE_MIN * median(self._speeds)

    def _rest(self) -> None:
        """Until it has cleared away what the load before has left, or for long enough."""
        for _ in range(REST_LOOKS_MAX):
            before = tree_cpu_seconds(self._process.pid)
            time.sleep(LOOK_SECONDS)
            used = tree_cpu_seconds(self._process.pid) - before
            if used <= RESTING_SHARE_MAX * LOOK_SECONDS:
                return

    def quiet(self, names: Sequence[str]) -> list[str]:
        """Those of these runs that were not disturbed in the end; all, if none was so."""
        return [name for name in names if name in self._quiet] or list(names)

    def _plan(self, name: str, fields: Mapping[str, Any]) -> LoadPlan:
        endpoint = Endpoint(self._process.endpoint_url)
        return LoadPlan(endpoint=endpoint, name=self._attempt(name), **fields)

    def _attempt(self, name: str) -> str:
        return f"{name}-{self._attempts.get(name, 0)}"

    def traced(self, name: str) -> Traced:
        """What was written of a load's queue; once the server has stopped."""
        attempt = self._attempt(name)
        return Traced(self._trace, f"%/{attempt}-1-0", self._seen / attempt)


async def _sent(plan: LoadPlan, *, journals: Path, traces: Location) -> LoadResult:
    live, stop = Live(), asyncio.Event()
    doing = run(plan, live=live, stop=stop, journals=journals, traces=traces)
    running = asyncio.ensure_future(doing)
    while not running.done() and live.phase != RECEIVING:
        await asyncio.wait([running], timeout=LOOK_SECONDS)
    stop.set()
    return await running


@contextlib.contextmanager
def service() -> Iterator[Service]:
    """Not yet started, on a directory of its own, in memory if it can be; it goes with it."""
    own, others = divided()
    place = RAM_DISK if os.access(RAM_DISK, os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="dovemq-loop-", dir=place) as folder,
        awake() as looks,
        on(others),
    ):
        made = Service(Path(folder), own, looks)
        try:
            yield made
        finally:
            made.end()
