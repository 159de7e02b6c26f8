"""The outcome of work that several callers may wait for, or none any more."""

import asyncio
from typing import Any


def let_go_unread(work: "asyncio.Future[Any]") -> None:
    """Keep asyncio from logging a failure that nobody waits for: all callers may have gone."""
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
