"""Answers that the store's threads give to the event loop."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any


def post(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *values: object) -> None:
    """Have the loop make the call. May be used by any thread."""
    with contextlib.suppress(RuntimeError):
        # The loop is closed when the process ends without closing the store.
        loop.call_soon_threadsafe(call, *values)


def resolve(future: asyncio.Future[Any], value: object) -> None:
    """Answer on the loop; a caller that went away has cancelled its future."""
    if not future.done():
        future.set_result(value)


def reject(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
