"""A blocking face for asyncio objects: one loop in one background thread.

A face names the coroutine methods that it offers; there is no second implementation of them.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar

import uvloop

JOIN_SECONDS_MAX: Final = 30.0

C = TypeVar("C")
P = ParamSpec("P")
R = TypeVar("R")


class LoopThread:
    """Runs coroutines for callers of other threads. A daemon: it never holds up an exit."""

    def __init__(self, name: str) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        return self._loop.is_closed()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """The result; an interrupted caller cancels the coroutine."""
        if self._loop.is_closed() or threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("closed, or called from its own loop")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """Callers that still wait in other threads get a CancelledError."""
        if self._loop.is_closed():
            return
        self.run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(JOIN_SECONDS_MAX)
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_default_executor()


class Face(Generic[C]):
    """Holds the asyncio object and the thread that runs it."""

    def __init__(self, inner: C, thread: LoopThread) -> None:
        self._inner = inner
        self._thread = thread


def blocking(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Face[C], P], R]:
    """The method of the asyncio object as a plain one of its face."""

    def call(face: Face[C], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return face._thread.run(method(face._inner, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call
