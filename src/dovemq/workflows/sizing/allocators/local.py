"""An allocator of processes on this machine, one for each consumer.

A process is recorded with the time of its start in a file, so that the manager after one that is
killed finds its workers, and signals no process that was given the number of a worker later. A
worker that the record does not name, or whose manager is gone, ends after a while (`KeeperWatch`).
Processes that are not needed any more get SIGTERM, finish their task and end. A worker that dies
soon after its start is started again after a pause that doubles.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.system.process_ids import ProcessId, end_all, process_id
from dovemq.workflows.sizing.allocators.worker_record import (
    RecordedWorker,
    WorkerRecord,
    read_record,
)

SOON_SECONDS: Final = 5.0
"""A worker that ended sooner after its start did not work."""
PAUSE_SECONDS: Final = 1.0
PAUSE_SECONDS_MAX: Final = 60.0
END_SECONDS_MAX: Final = 40.0
"""More than the grace period of workers, which is 30 s."""

CommandOf = Callable[[str, int], Sequence[str]]
"""Gives the command line of a worker of a topic at a place: the least number that is free there."""


class _TopicPause(Struct):
    """When the next worker of a topic that keeps dying may start."""

    until: float = 0.0
    seconds: float = PAUSE_SECONDS


class LocalAllocator:
    name = "local"

    def __init__(
        self,
        command_of: CommandOf,
        record: WorkerRecord,
        *,
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Takes over the workers of an earlier manager that are in `record` and still run."""
        self._command_of, self._record, self._log = command_of, record, log
        self._environment, self._seconds = environment, seconds
        self._workers: dict[str, list[RecordedWorker]] = {}
        self._leaving: list[ProcessId] = []
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._started: dict[int, float] = {}
        self._pauses: dict[str, _TopicPause] = {}
        for each in read_record(record.path).workers:
            if each.process.running:
                self._workers.setdefault(each.topic, []).append(each)
        self._write()

    @property
    def processes(self) -> Mapping[str, Sequence[ProcessId]]:
        return {
            topic: tuple(each.process for each in found) for topic, found in self._workers.items()
        }

    async def consumers(self, topics: Sequence[str]) -> Mapping[str, int]:
        self._forget_ended()
        return {topic: len(self._workers.get(topic, ())) for topic in topics}

    async def allocate(self, wanted: Mapping[str, int]) -> Sequence[str]:
        self._forget_ended()
        troubles = []
        try:
            for topic, count in wanted.items():
                if trouble := self._set(topic, count):
                    troubles.append(trouble)
            self._write()
        except OSError as error:
            troubles.append(f"{self._record.path} cannot be written: {error.strerror}")
        return troubles

    async def close(self) -> None:
        """Lets all workers finish their tasks and end; those that do not are killed."""
        ending = [*self._leaving, *(each.process for each in self._all())]
        await asyncio.to_thread(end_all, ending, signal.SIGTERM, END_SECONDS_MAX)
        for child in self._children.values():
            child.wait()
        self._workers.clear()
        with contextlib.suppress(OSError):
            self._write()
        self._record.release()

    def _set(self, topic: str, count: int) -> str | None:
        """Starts or ends workers of a topic; returns a sentence if that is not possible."""
        found = self._workers.setdefault(topic, [])
        while len(found) > count:
            process = found.pop().process
            process.signal(signal.SIGTERM)
            self._leaving.append(process)
        pause = self._pauses.setdefault(topic, _TopicPause())
        if len(found) < count and self._seconds() < pause.until:
            return f"{topic}: its workers end soon after their start; see their output"
        while len(found) < count:
            taken = {each.place for each in found}
            place = next(each for each in itertools.count() if each not in taken)
            try:
                found.append(RecordedWorker(topic, self._start(topic, place), place))
            except OSError as error:
                return f"{topic}: a worker cannot be started: {error}"
            # At once: one that is not recorded when the manager is killed is nobody's.
            self._write()
        return None

    def _start(self, topic: str, place: int) -> ProcessId:
        output = subprocess.DEVNULL if self._log is None else self._log.open("ab")
        try:
            # A group of its own: Ctrl-C for the manager is none for the workers, which close ends.
            child = subprocess.Popen(
                list(self._command_of(topic, place)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=None if self._environment is None else {**os.environ, **self._environment},
                start_new_session=True,
            )
        finally:
            if not isinstance(output, int):
                output.close()
        self._children[child.pid] = child
        self._started[child.pid] = self._seconds()
        return process_id(child.pid)

    def _forget_ended(self) -> None:
        for pid in [pid for pid, child in self._children.items() if child.poll() is not None]:
            del self._children[pid]
        self._leaving = [each for each in self._leaving if each.running]
        for topic, found in self._workers.items():
            ended = [each for each in found if not each.process.running]
            for each in ended:
                found.remove(each)
                self._note_end(topic, self._started.pop(each.process.pid, None))

    def _note_end(self, topic: str, started: float | None) -> None:
        """Pauses a topic whose workers die at once, and ends its pauses when one has worked."""
        now = self._seconds()
        pause = self._pauses.setdefault(topic, _TopicPause())
        if started is None or now - started >= SOON_SECONDS:
            self._pauses[topic] = _TopicPause()
        elif now >= pause.until:
            pause.until = now + pause.seconds
            pause.seconds = min(2 * pause.seconds, PAUSE_SECONDS_MAX)

    def _all(self) -> list[RecordedWorker]:
        return [each for found in self._workers.values() for each in found]

    def _write(self) -> None:
        self._record.write(self._all())
