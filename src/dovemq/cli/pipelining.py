"""What the commands of the pipeline share: their extra, where Spark runs, and with how much."""

import argparse
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
    """By Ctrl-C or SIGTERM, instead of an exception in the middle of anything."""
    stopping = threading.Event()
    with _handled([signal.SIGINT, signal.SIGTERM], lambda *_: stopping.set()):
        yield stopping


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """By SIGTERM, or when the terminal goes, as by Ctrl-C, so that what was started is stopped."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        # A loop of asyncio handles Ctrl-C by cancelling its task: an exception in the middle of
        # the loop could come while a thread is being started, which then nobody waits for.
        by_ctrl_c = signal.getsignal(signal.SIGINT)
        (by_ctrl_c if callable(by_ctrl_c) else signal.default_int_handler)(number, frame)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    with _handled(heeded, interrupt):
        yield


@contextlib.contextmanager
def _handled(
    numbers: Sequence[signal.Signals], handler: Callable[[int, FrameType | None], object]
) -> Iterator[None]:
    """Such signals, until its end."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
