"""Server tests run on the event loop that the server uses, which here counts its timers."""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import TypeVarTuple

import pytest
import uvloop

Arguments = TypeVarTuple("Arguments")


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


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": CountingLoop}
