"""The senders and receivers of one process, and its communication with the run.

As a program it reads its share and then commands from standard input, and writes news and finally
its tally to standard output, one JSON document per line. So no key shows in the list of processes.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import msgspec
import uvloop
from msgspec import Struct

from dovemq.load.counters import WorkerCounters, WorkerNews, WorkerTally
from dovemq.load.journals import SUFFIX, ReceiverJournal, SenderJournal
from dovemq.load.receiver import Quits, Receiver
from dovemq.load.sender import Sender
from dovemq.load.threads import Share, Thread
from dovemq.system.collector import calm_collector

NEWS_SECONDS: Final = 0.1
STOP_SECONDS_MAX: Final = 2.0
LINE_BYTES_MAX: Final = 64 << 20


Work = Literal["send", "receive"]


class WorkerCommand(Struct, frozen=True):
    """Starts the threads of that kind at `starts_us`; None stops all."""

    work: Work | None = None
    starts_us: int = 0


class WorkerOutput(Struct, frozen=True):
    """One line of output; the last one has the tally."""

    news: list[WorkerNews]
    tally: WorkerTally | None = None


def clock(offset_us: int) -> Callable[[], int]:
    now_ns = time.monotonic_ns
    return lambda: now_ns() // 1_000 + offset_us


class Worker:
    def __init__(self, share: Share, quits: Quits | None = None) -> None:
        plan = share.plan
        self._warm_up_us = 1_000 * plan.warm_up_ms
        self._counters = WorkerCounters(share.number)
        names, folder = share.queue_names, Path(share.journals)
        self._sends = SenderJournal(share.run, names, folder / f"{share.number}-senders{SUFFIX}")
        self._receives = ReceiverJournal(
            share.run, names, folder / f"{share.number}-receivers{SUFFIX}"
        )
        now_us = clock(share.clock_offset_us)
        self._senders: list[Thread] = [
            Sender(share, number, self._counters, now_us, self._sends)
            for number in range(share.number, plan.senders_total, plan.processes)
        ]
        self._receivers: list[Thread] = [
            Receiver(share, number, self._counters, now_us, self._receives, quits)
            for number in range(share.number, plan.receivers_total, plan.processes)
        ]
        self._cpu_then = time.process_time()

    def begin(self, work: Work, starts_us: int) -> None:
        tally, sends = self._counters.tally, work == "send"
        for activity in (tally.sends,) if sends else (tally.receives, tally.settles):
            activity.counts_from_us = starts_us + self._warm_up_us
        for thread in self._senders if sends else self._receivers:
            thread.start(starts_us)

    def news(self) -> list[WorkerNews]:
        """Returns the news since the last call."""
        sending = not all(thread.done for thread in self._senders)
        return [self._counters.take_news(sending=sending)]

    async def stop(self) -> WorkerTally:
        """Stops all threads and returns the tally. A second call only changes the CPU time."""
        threads = [*self._senders, *self._receivers]
        for thread in threads:
            thread.stop()
        try:
            await asyncio.gather(*(thread.ended(STOP_SECONDS_MAX) for thread in threads))
        finally:
            self._sends.close()
            self._receives.close()
        for thread in threads:
            thread.raise_failure()
        tally = self._counters.tally
        tally.cpu_seconds = time.process_time() - self._cpu_then
        return tally


async def serve() -> None:
    """Runs one share to its end, also if the parent process ends."""
    reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    worker = Worker(msgspec.json.decode(await reader.readline(), type=Share))
    calm_collector()
    reporting = loop.create_task(_report_news(worker))
    try:
        while line := await reader.readline():
            command = msgspec.json.decode(line, type=WorkerCommand)
            if command.work is None:
                break
            worker.begin(command.work, command.starts_us)
    finally:
        reporting.cancel()
        tally = await worker.stop()
    _write(WorkerOutput(worker.news(), tally))


async def _report_news(worker: Worker) -> None:
    while True:
        await asyncio.sleep(NEWS_SECONDS)
        _write(WorkerOutput(worker.news()))


def _write(output: WorkerOutput) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(output) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    uvloop.run(serve())
