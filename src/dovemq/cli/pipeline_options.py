"""What the commands of the pipeline share: their extra, where Spark runs, and with how much."""

import argparse
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from dovemq.cli.command import pair
from dovemq.cli.ending import Ending, ended_soon
from dovemq.cli.modelling import modelling
from dovemq.pipeline.places import local_path

if TYPE_CHECKING:
    from dovemq.pipeline.session import SparkPlan


@contextlib.contextmanager
def pipeline_job(extra: str = "spark") -> Iterator[Ending]:
    """Around the imports and the work: a missing extra and a wrong question become wrong use.

    Signals end the work soon; set `advice` of what this yields to say how to go on.
    """
    with modelling(extra), ended_soon() as ending:
        yield ending


def local_directory(text: str) -> Path:
    """For results that a command also locks, reads again and replaces."""
    path = local_path(text)
    if path is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not on this machine: this command keeps its state in a local directory"
        )
    return path


def add_spark(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Spark")
    group.add_argument(
        "--master",
        default="local[*]",
        metavar="URL",
        help="master of Spark, such as local[2] or spark://host:7077, or sc://host:15002 for Spark "
        "Connect (default: %(default)s)",
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
