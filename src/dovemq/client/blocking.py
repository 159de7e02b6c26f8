"""Blocking versions of asyncio objects, over one loop in a background thread.

A blocking class lists the coroutine methods that it offers. There is no second implementation.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, Self, TypeVar

import uvloop

JOIN_SECONDS_MAX: Final = 30.0

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
P = ParamSpec("P")
R = TypeVar("R")


class LoopThread:
    """Runs coroutines for callers in other threads. As a daemon it does not delay an exit."""

    def __init__(self, name: str) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        return self._loop.is_closed()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Wait for the result. If the caller is interrupted, the coroutine is cancelled."""
        if self._loop.is_closed() or threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("closed, or called from its own loop")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """Stop the loop. Callers that wait in other threads get a CancelledError."""
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


class Face(Generic[C_co]):
    """The asyncio object and the thread that runs it."""

    def __init__(self, inner: C_co, thread: LoopThread) -> None:
        self._inner = inner
        self._thread = thread


class Closable(Protocol):
    async def close(self) -> None: ...


Owned = TypeVar("Owned", bound=Closable)


class OwningFace(Face[Owned]):
    """A face that closes its object and its thread, for `with` or by `close`."""

    def close(self) -> None:
        if not self._thread.closed:
            self._thread.run(self._inner.close())
            self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def blocking(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Face[C], P], R]:
    """A blocking method that runs a coroutine method of the asyncio object."""

    def call(face: Face[C], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return face._thread.run(method(face._inner, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call
