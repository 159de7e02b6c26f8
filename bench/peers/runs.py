"""Passes over all contestants in turn, each workload with as many messages as time allows.

All servers run from the start to the end, so that they stay warm; all but the measured one are
stopped (SIGSTOP) and take no CPU from it.
"""

import contextlib
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from bench.peers.client import Client, LoadFailed, Measured, Task
from bench.peers.contestants import Contestant
from bench.peers.processes import NotStarted, Running
from bench.peers.workloads import (
    DRAIN_SHALLOW,
    LIFECYCLE,
    LIFECYCLE_BATCH,
    WORKLOADS,
    Workload,
)

PROBE_MESSAGES: Final = 200
PROBE_GROWTH: Final = 5
MESSAGES_MIN: Final = 100
SETTLE_SECONDS: Final = 0.2


class Pace(Struct, frozen=True):
    """The time of one measurement."""

    passes: int = 5
    cell_seconds: float = 2.0
    probe_seconds: float = 0.4
    """A probe that took at least this long tells a rate."""
    fill_seconds: float = 45.0
    warm_share: float = 1.0


QUICK: Final = Pace(passes=1, cell_seconds=0.6, probe_seconds=0.3, fill_seconds=4.0, warm_share=0.2)


class Sample(Struct, frozen=True):
    number: int
    """The number of the pass."""
    contestant: str
    workload: str
    measured: Measured


class Kept(Struct, frozen=True):
    """A queue that outlives a pass."""

    backlog: int
    held: int = 0
    first: int = 0


class Entry:
    """A contestant whose server runs, with its speed so far."""

    def __init__(self, contestant: Contestant, running: Running) -> None:
        self.contestant = contestant
        self.running = running
        self.sizes: dict[str, int] = {}
        self.kept: dict[str, Kept] = {}
        self.failed: dict[str, str] = {}


class Bench:
    def __init__(
        self, client: Client, cache: Path, pace: Pace, note: Callable[[str], None]
    ) -> None:
        self._client = client
        self._cache = cache
        self._pace = pace
        self._note = note
        self._numbers = itertools.count()
        self.absent: dict[str, str] = {}

    @contextlib.contextmanager
    def entries(self, contestants: Sequence[Contestant]) -> Iterator[list[Entry]]:
        with contextlib.ExitStack() as stack:
            made = []
            for contestant in contestants:
                self._note(f"starting {contestant.title}")
                try:
                    running = stack.enter_context(self._server(contestant))
                except (NotStarted, OSError) as error:
                    self.absent[contestant.name] = str(error)
                    self._note(f"absent: {contestant.title}: {error}")
                    continue
                made.append(Entry(contestant, running))
                running.freeze()
            yield made

    @contextlib.contextmanager
    def _server(self, contestant: Contestant) -> Iterator[Running]:
        directory = Path(tempfile.mkdtemp(prefix=f"bench-{contestant.name}-"))
        try:
            running = contestant.start(self._cache, directory)
            try:
                yield running
            finally:
                running.stop()
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def run(self, entries: Sequence[Entry], workloads: Sequence[Workload]) -> list[Sample]:
        for entry in entries:
            with self._turn(entry):
                self._warm(entry)
                self._size_all(entry, workloads)
        samples = []
        # Deep backlogs come last: they would count as memory while others are measured.
        for keeping in (False, True):
            chosen = [each for each in workloads if each.keeps_its_queue == keeping]
            for number in range(1, self._pace.passes + 1) if chosen else ():
                for entry in entries:
                    self._note(f"pass {number}: {entry.contestant.title}")
                    with self._turn(entry):
                        samples += self._pass(entry, chosen, number)
        return samples

    @contextlib.contextmanager
    def _turn(self, entry: Entry) -> Iterator[None]:
        entry.running.thaw()
        time.sleep(SETTLE_SECONDS)
        try:
            yield
        finally:
            entry.running.freeze()

    def _warm(self, entry: Entry) -> None:
        seconds = entry.contestant.warm_seconds * self._pace.warm_share
        self._note(f"warming {entry.contestant.title} for {seconds:.0f} s")
        known = {workload.name: workload for workload in WORKLOADS}
        deadline = time.monotonic() + seconds
        for name in itertools.cycle((LIFECYCLE, LIFECYCLE_BATCH)):
            if time.monotonic() >= deadline:
                return
            try:
                self._measure(entry, known[name], self._size(entry, known[name]))
            except LoadFailed:
                return

    def _size_all(self, entry: Entry, workloads: Sequence[Workload]) -> None:
        for workload in workloads:
            try:
                entry.sizes[workload.name] = self._size(entry, workload)
            except LoadFailed as error:
                self._fail(entry, workload, error)

    def _size(self, entry: Entry, workload: Workload) -> int:
        """The number of messages that fit into the time of a cell, at most that of the workload."""
        if workload.keeps_its_queue:
            return entry.sizes[DRAIN_SHALLOW]
        few = workload.messages // PROBE_GROWTH
        messages = min(PROBE_MESSAGES, few)
        # A short probe of a drain would measure how long it takes to fill.
        long_enough = self._pace.cell_seconds if workload.backlog else self._pace.probe_seconds
        while True:
            began = time.monotonic()
            measured = self._measure(entry, workload, messages)
            whole = time.monotonic() - began
            seconds = whole if workload.backlog else measured.seconds
            if seconds >= long_enough or messages == workload.messages:
                break
            messages = min(messages * PROBE_GROWTH, workload.messages)
        wanted = int(measured.messages / seconds * self._pace.cell_seconds)
        return max(min(MESSAGES_MIN, few), min(workload.messages, wanted // 10 * 10))

    def _pass(self, entry: Entry, workloads: Sequence[Workload], number: int) -> list[Sample]:
        samples = []
        for workload in workloads:
            if workload.name in entry.failed:
                continue
            try:
                measured = self._measure(entry, workload, entry.sizes[workload.name])
            except LoadFailed as error:
                self._fail(entry, workload, error)
                continue
            samples.append(Sample(number, entry.contestant.name, workload.name, measured))
        return samples

    def _fail(self, entry: Entry, workload: Workload, error: LoadFailed) -> None:
        entry.failed[workload.name] = str(error)
        self._note(f"failed: {entry.contestant.title}, {workload.title}: {error}")

    def _measure(self, entry: Entry, workload: Workload, messages: int) -> Measured:
        task = Task(
            workload,
            f"{workload.name}-{next(self._numbers)}",
            messages,
            workload.backlog,
            fill_seconds_max=self._pace.fill_seconds,
        )
        protocol = entry.contestant.protocol
        if not workload.keeps_its_queue:
            return self._client.run(entry.running, protocol, task)
        kept = entry.kept.get(workload.name, Kept(workload.backlog))
        task = replace(
            task, queue=workload.name, backlog=kept.backlog, held=kept.held, first=kept.first
        )
        measured = self._client.run(entry.running, protocol, task)
        held = kept.held + measured.sent - measured.messages
        entry.kept[workload.name] = Kept(measured.backlog, held, kept.first + measured.sent)
        return measured
