"""What the commands of the pipeline share: their extra, where Spark runs, and with how much."""

import argparse
import contextlib
import signal
import threading
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

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
    before = {
        number: signal.signal(number, lambda *_: stopping.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stopping
    finally:
        for number, was in before.items():
            signal.signal(number, was)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """By SIGTERM, or when the terminal goes, as by Ctrl-C, so that what was started is stopped."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, was in before.items():
        if was is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
