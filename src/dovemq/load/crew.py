"""The workers of a repetition: one in this process, or several in their own processes."""

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from dovemq.core.errors import DoveError
from dovemq.load import worker
from dovemq.load.counters import WorkerNews, WorkerTally
from dovemq.load.receiver import Quits
from dovemq.load.threads import Share
from dovemq.load.worker import LINE_BYTES_MAX, Work, Worker, WorkerCommand, WorkerOutput

END_SECONDS_MAX: Final = 30.0


class WorkerLost(DoveError):
    def __init__(self, number: int, code: int | None) -> None:
        super().__init__(f"process {number} of the load ended early (exit code {code})")


class Crew:
    def __init__(self, workers: "Sequence[Worker | _Child]") -> None:
        self._workers = workers

    @classmethod
    async def start(cls, shares: Sequence[Share], quits: Quits | None) -> "Crew":
        """Starts the workers and waits until they take commands."""
        if len(shares) == 1:
            return cls([Worker(shares[0], quits)])
        children = [await _Child.start(share) for share in shares]
        for child in children:
            await child.first_news()
        return cls(children)

    def begin(self, work: Work, starts_us: int) -> None:
        for each in self._workers:
            each.begin(work, starts_us)

    def news(self) -> Sequence[WorkerNews]:
        """Returns the news since the last call."""
        return [news for each in self._workers for news in each.news()]

    async def stop(self) -> Sequence[WorkerTally]:
        """Stops the workers. Afterwards each may have one more news."""
        return await asyncio.gather(*(each.stop() for each in self._workers))


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

    def begin(self, work: Work, starts_us: int) -> None:
        self._write(msgspec.json.encode(WorkerCommand(work, starts_us)))

    def news(self) -> list[WorkerNews]:
        news, self._news = self._news, []
        if self._listening.done():
            self._listening.result()
        return news

    async def first_news(self) -> None:
        """Waits for the first news of the worker, or for its end."""
        await self._has_news.wait()

    async def stop(self) -> WorkerTally:
        self._write(msgspec.json.encode(WorkerCommand()))
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
            self._news += output.news
            self._has_news.set()
            if output.tally is not None:
                await self._process.wait()
                return output.tally
        self._has_news.set()
        raise WorkerLost(self._number, await self._process.wait())

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
