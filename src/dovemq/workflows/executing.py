"""The ways in which a task is executed: a coroutine, a thread, a process, or a command line."""

import asyncio
import contextlib
import functools
import importlib
import multiprocessing
import shlex
import signal
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, Protocol

import msgspec

from dovemq.core.errors import DoveError
from dovemq.core.workflows.jobs import ERROR_LENGTH_MAX, RESULT_BYTES_MAX
from dovemq.workflows.calls import TaskCall
from dovemq.workflows.tasks import TopicTask

OUTPUT_BYTES_MAX: Final = 2 * RESULT_BYTES_MAX


class TaskFailed(DoveError):
    """A command has failed, or a process has died."""


class Execution(Protocol):
    async def run(self, call: TaskCall) -> Any:
        """The result of the task; any exception is a failed attempt."""

    def close(self) -> None:
        """Free what the execution holds. What still runs is left alone."""


def execution_of(task: TopicTask, concurrency: int) -> Execution:
    if task.is_async:
        return CoroutineExecution(task)
    if task.processes:
        return ProcessExecution(task, concurrency)
    return ThreadExecution(task, concurrency)


class CoroutineExecution:
    def __init__(self, task: TopicTask) -> None:
        self._task = task

    async def run(self, call: TaskCall) -> Any:
        return await self._task(call)

    def close(self) -> None:
        pass


class ThreadExecution:
    def __init__(self, task: TopicTask, concurrency: int) -> None:
        self._task = task
        self._threads = ThreadPoolExecutor(concurrency, f"dovemq-{task.topic}")

    async def run(self, call: TaskCall) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._task, call)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class ProcessExecution:
    """A pool of processes. If one dies, the calls in all of them fail, and a new pool follows."""

    def __init__(self, task: TopicTask, concurrency: int) -> None:
        function = task.function
        self._place = (function.__module__, function.__qualname__)
        self._concurrency = concurrency
        self._pool = self._new_pool()

    async def run(self, call: TaskCall) -> Any:
        pool = self._pool
        work = functools.partial(run_in_process, *self._place, call)
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, work)
        except BrokenProcessPool:
            if pool is self._pool:
                pool.shutdown(wait=False)
                self._pool = self._new_pool()
            raise TaskFailed("a worker process has died") from None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _new_pool(self) -> ProcessPoolExecutor:
        # Not forked: the worker has threads, and a loop with open connections.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._concurrency, context, initializer=_leave_signals)


def run_in_process(module: str, name: str, call: TaskCall) -> Any:
    """Find the function again, since a decorated one cannot be pickled, and call it."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found(call)


def _leave_signals() -> None:
    """Ctrl-C in a terminal reaches every process; the worker decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class CommandExecution:
    """A command line: the call as JSON on its input, the result as JSON on its output."""

    def __init__(self, command: str) -> None:
        self._words = split_command(command)

    async def run(self, call: TaskCall) -> Any:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._words, stdin=pipe, stdout=pipe, stderr=pipe
        )
        try:
            output, errors = await process.communicate(msgspec.json.encode(call))
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        if process.returncode:
            said = errors.decode(errors="replace").strip()[-ERROR_LENGTH_MAX:]
            raise TaskFailed(f"exit code {process.returncode}: {said}")
        if len(output) > OUTPUT_BYTES_MAX:
            raise TaskFailed(f"its output has more than {OUTPUT_BYTES_MAX} bytes")
        try:
            return msgspec.json.decode(output) if output.strip() else None
        except msgspec.DecodeError as error:
            raise TaskFailed(f"its output is not JSON: {error}") from None

    def close(self) -> None:
        pass


def split_command(command: str) -> Sequence[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise TaskFailed(f"{command!r} is not a command line: {error}") from None
    if not words:
        raise TaskFailed("a command line is empty")
    return words
