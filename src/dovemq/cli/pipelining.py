"""What the commands of the pipeline share: their extra, where Spark runs, and with how much."""

import argparse
import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING

from dovemq.cli.command import pair
from dovemq.cli.modelling import modelling

if TYPE_CHECKING:
    from dovemq.pipeline.session import SparkPlan


def piping() -> contextlib.AbstractContextManager[None]:
    """Around the imports and the work: a missing extra and a wrong question become wrong use."""
    return modelling("spark")


def add_spark(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Spark")
    group.add_argument(
        "--master",
        default="local[*]",
        metavar="URL",
        help="where it runs, such as local[2] or spark://host:7077 (default: %(default)s)",
    )
    group.add_argument(
        "--memory",
        default="2g",
        metavar="SIZE",
        help="of this process on a local master, else of an executor (default: %(default)s)",
    )
    group.add_argument(
        "--spark",
        type=pair,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of Spark; may be repeated",
    )


def spark_plan(
    args: argparse.Namespace, settings: Mapping[str, str] = MappingProxyType({})
) -> "SparkPlan":
    """`settings` are those of the job; the user's come before them."""
    from dovemq.pipeline.session import SparkPlan

    return SparkPlan(args.master, args.memory, more={**settings, **dict(args.spark)})


@contextlib.contextmanager
def set_by_interruption() -> Iterator[threading.Event]:
    """By Ctrl-C, SIGTERM or a lost terminal, instead of an exception in the middle of anything."""
    stopping = threading.Event()
    with _handled([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], lambda *_: stopping.set()):
        yield stopping


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """By SIGTERM, or when the terminal goes, as by Ctrl-C, so that what was started is stopped."""
    with _handled([signal.SIGTERM, signal.SIGHUP], _interrupt):
        try:
            yield
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


def _interrupt(*_: object) -> None:
    """A loop is ended where its tasks wait: in its middle, a thread may be about to be started."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise KeyboardInterrupt from None
    for task in asyncio.all_tasks(loop):
        loop.call_soon_threadsafe(task.cancel)


@contextlib.contextmanager
def _handled(
    numbers: Sequence[signal.Signals], handler: Callable[[int, FrameType | None], object]
) -> Iterator[None]:
    """Such signals, until its end; those that the process was told to ignore stay ignored."""
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heeded}
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
