"""The end of long commands by Ctrl-C, SIGTERM or a lost terminal, soon and with advice."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Final

from dovemq.cli.command import Interrupted
from dovemq.pipeline.stopping import children, send, stop_spark

END_SECONDS_MAX: Final = 4.5
"""Longest time from the signal to the end of the process, even if something hangs."""
CANCEL_SECONDS_MAX: Final = 3.0
"""Time in which Spark may cancel its jobs. Then its Java process is killed."""
CANCEL_EVERY_SECONDS: Final = 0.2
START_OVER: Final = "run the same command again to start over"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler = Callable[[int, FrameType | None], object]


class Interruption:
    """The interruption of one command, from the first signal on.

    `advice` returns the line that says how to continue. It may be called in another thread.
    """

    def __init__(self) -> None:
        self.advice: Callable[[], str] = lambda: START_OVER
        self.number: int | None = None
        self._over = threading.Event()

    def begin(self, number: int) -> None:
        if self.number is None:
            self.number = number
            for part in (self._cancel, self._give_up):
                threading.Thread(target=part, name="dovemq-ending", daemon=True).start()

    def close(self) -> None:
        self._over.set()

    def _cancel(self) -> None:
        """Cancel repeatedly, since another job may be about to start."""
        started = time.monotonic()
        while not self._over.is_set():
            stop_spark(kill=time.monotonic() - started > CANCEL_SECONDS_MAX)
            self._over.wait(CANCEL_EVERY_SECONDS)

    def _give_up(self) -> None:
        if self._over.wait(END_SECONDS_MAX):
            return
        interrupted = Interrupted(self.number or signal.SIGINT, self.advice())
        print(f"dovemq: {interrupted}", file=sys.stderr, flush=True)
        for pid, _ in children():
            send(pid, signal.SIGTERM)
        os._exit(interrupted.code)


@contextlib.contextmanager
def ended_soon() -> Iterator[Interruption]:
    """A signal ends the block within `END_SECONDS_MAX` and cancels the jobs of Spark."""
    ending = Interruption()
    try:
        with ended_by_signals(ending.begin):
            yield ending
    except Interrupted as error:
        raise Interrupted(error.number, ending.advice()) from None
    except Exception:
        # Work that is cancelled can fail with any exception.
        if ending.number is not None:
            raise Interrupted(ending.number, ending.advice()) from None
        raise
    finally:
        ending.close()


@contextlib.contextmanager
def set_by_interruption() -> Iterator[threading.Event]:
    """A signal sets the event. It raises no exception in the block."""
    stopping = threading.Event()
    with _handled(_SIGNALS, lambda *_: stopping.set()):
        yield stopping


@contextlib.contextmanager
def ended_by_signals(noticed: Callable[[int], None] = lambda _: None) -> Iterator[None]:
    """A signal calls `noticed` and raises `Interrupted`, so that context managers clean up."""
    numbers: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        numbers.append(number)
        noticed(number)
        _interrupt(number)

    with _handled(_SIGNALS, interrupt):
        try:
            yield
        except asyncio.CancelledError:
            raise Interrupted(numbers[0] if numbers else signal.SIGINT) from None


def _interrupt(number: int) -> None:
    """Raise, or cancel the tasks of a running loop.

    An exception inside the loop itself could hit it while it starts a thread.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise Interrupted(number) from None
    for task in asyncio.all_tasks(loop):
        loop.call_soon_threadsafe(task.cancel)


@contextlib.contextmanager
def _handled(numbers: Sequence[signal.Signals], handler: Handler) -> Iterator[None]:
    """Install the handler during the block, except for signals that the process ignores."""
    handled = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in handled}
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
