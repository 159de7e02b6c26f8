"""How long commands end: by Ctrl-C, SIGTERM or a lost terminal, soon, saying how to go on."""

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
"""From the signal to the end of the process, whatever hangs."""
CANCEL_SECONDS_MAX: Final = 3.0
"""Time for Spark to cancel its jobs; then its Java process is killed."""
CANCEL_EVERY_SECONDS: Final = 0.2
START_OVER: Final = "run the same command again to start over"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler = Callable[[int, FrameType | None], object]


class Interruption:
    """The end of one command, from the first signal on.

    `advice` gives the line that says how to go on; it may be asked in another thread.
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
        """Again and again: the next job may be about to start."""
        begun = time.monotonic()
        while not self._over.is_set():
            stop_spark(kill=time.monotonic() - begun > CANCEL_SECONDS_MAX)
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
    """A signal ends what is inside within `END_SECONDS_MAX`; jobs of Spark are cancelled."""
    ending = Interruption()
    try:
        with ended_by_signals(ending.begin):
            yield ending
    except Interrupted as error:
        raise Interrupted(error.number, ending.advice()) from None
    except Exception:
        # What was cancelled fails in many ways.
        if ending.number is not None:
            raise Interrupted(ending.number, ending.advice()) from None
        raise
    finally:
        ending.close()


@contextlib.contextmanager
def set_by_interruption() -> Iterator[threading.Event]:
    """A signal sets the event, instead of raising an exception in the middle of anything."""
    stopping = threading.Event()
    with _handled(_SIGNALS, lambda *_: stopping.set()):
        yield stopping


@contextlib.contextmanager
def ended_by_signals(noticed: Callable[[int], None] = lambda _: None) -> Iterator[None]:
    """A signal raises `Interrupted`, so that what was started is stopped; `noticed` comes first."""
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
    """A loop is ended where its tasks wait: in its middle, a thread may be about to be started."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise Interrupted(number) from None
    for task in asyncio.all_tasks(loop):
        loop.call_soon_threadsafe(task.cancel)


@contextlib.contextmanager
def _handled(numbers: Sequence[signal.Signals], handler: Handler) -> Iterator[None]:
    """Such signals, until its end; those that the process was told to ignore stay ignored."""
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heeded}
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
