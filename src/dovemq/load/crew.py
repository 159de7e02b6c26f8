"""The workers of a repetition: one in this process, or several in their own processes."""

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from dovemq.core.errors import DoveError
from dovemq.load import worker
from dovemq.load.counters import WorkerNews, WorkerTally
from dovemq.load.receiver import Quits
from dovemq.load.threads import Share
from dovemq.load.worker import LINE_BYTES_MAX, Worker, WorkerCommand, WorkerOutput

END_SECONDS_MAX: Final = 30.0


class WorkerLost(DoveError):
    def __init__(self, number: int, code: int | None) -> None:
        super().__init__(f"process {number} of the load ended early (exit code {code})")


class Crew(Protocol):
    def send(self, starts_us: int) -> None: ...

    def receive(self, starts_us: int) -> None: ...

    def news(self) -> Sequence[WorkerNews]:
        """Returns the news since the last call."""
        ...

    async def stop(self) -> Sequence[WorkerTally]:
        """Stops the workers. Afterwards each may have one more news."""
        ...


class LocalCrew:
    def __init__(self, share: Share, quits: Quits | None) -> None:
        self._worker = Worker(share, quits)

    def send(self, starts_us: int) -> None:
        self._worker.send(starts_us)

    def receive(self, starts_us: int) -> None:
        self._worker.receive(starts_us)

    def news(self) -> Sequence[WorkerNews]:
        return [self._worker.news()]

    async def stop(self) -> Sequence[WorkerTally]:
        return [await self._worker.stop()]


class ProcessCrew:
    def __init__(self, children: Sequence["_Child"]) -> None:
        self._children = children

    @classmethod
    async def start(cls, shares: Sequence[Share]) -> "ProcessCrew":
        """Starts the workers and waits until they take commands."""
        crew = cls([await _Child.start(share) for share in shares])
        for child in crew._children:
            await child.first_news()
        return crew

    def send(self, starts_us: int) -> None:
        self._command(WorkerCommand("send", starts_us))

    def receive(self, starts_us: int) -> None:
        self._command(WorkerCommand("receive", starts_us))

    def news(self) -> Sequence[WorkerNews]:
        return [news for child in self._children for news in child.take_news()]

    async def stop(self) -> Sequence[WorkerTally]:
        self._command(WorkerCommand("stop"))
        return [await child.tally() for child in self._children]

    def _command(self, command: WorkerCommand) -> None:
        for child in self._children:
            child.command(command)


class _Child:
    def __init__(self, number: int, process: asyncio.subprocess.Process) -> None:
        self._number = number
        self._process = process
        self._news: list[WorkerNews] = []
        self._has_news = asyncio.Event()
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    @classmethod
    async def start(cls, share: Share) -> "_Child":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            worker.__name__,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_BYTES_MAX,
            # Ctrl-C reaches all processes of a session; only the main process decides when to stop.
            start_new_session=True,
        )
        child = cls(share.number, process)
        child._write(msgspec.json.encode(share))
        return child

    def command(self, command: WorkerCommand) -> None:
        self._write(msgspec.json.encode(command))

    def take_news(self) -> list[WorkerNews]:
        news, self._news = self._news, []
        if self._listening.done():
            self._listening.result()
        return news

    async def first_news(self) -> None:
        """Waits for the first news of the worker, or for its end."""
        await self._has_news.wait()

    async def tally(self) -> WorkerTally:
        try:
            async with asyncio.timeout(END_SECONDS_MAX):
                return await self._listening
        finally:
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
            await self._process.wait()

    async def _listen(self) -> WorkerTally:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            output = msgspec.json.decode(line, type=WorkerOutput)
            if output.news is not None:
                self._news.append(output.news)
                self._has_news.set()
            if output.tally is not None:
                await self._process.wait()
                return output.tally
        self._has_news.set()
        raise WorkerLost(self._number, await self._process.wait())

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
