"""Runs a scenario on the event loop that the server runs on, and counts its timers."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context
from typing import Any, TypeVarTuple

import pytest
import uvloop

Arguments = TypeVarTuple("Arguments")
Run = Callable[[Coroutine[Any, Any, None]], None]


class CountingLoop(uvloop.Loop):
    """Counts the timers that the product sets."""

    timers = 0

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        if callback.__module__.startswith("dovemq."):
            self.timers += 1
        return super().call_later(delay, callback, *args, context=context)


@pytest.fixture
def run() -> Iterator[Run]:
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        yield runner.run
