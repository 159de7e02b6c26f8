"""Options and checks that the pipeline commands share: extras, output places, the Spark session."""

import argparse
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from dovemq.cli.command import check_directory, pair
from dovemq.cli.interruption import Interruption, ended_soon
from dovemq.cli.modelling import modelling
from dovemq.pipeline.engines import ENGINES
from dovemq.pipeline.places import local_path

if TYPE_CHECKING:
    from dovemq.pipeline.session import SparkPlan


@contextlib.contextmanager
def pipeline_job(extra: str = "spark") -> Iterator[Interruption]:
    """Wraps the imports and the work of a job.

    Reports a missing extra and an invalid model as wrong use, and ends the work soon after a
    signal. Set `advice` of the yielded value to say how to continue after an interruption.
    """
    with modelling(extra), ended_soon() as ending:
        yield ending


def output_place(text: str) -> str:
    """A URI, or a local directory that can be created or written to."""
    path = local_path(text)
    if path is not None:
        check_directory(path)
    return text


def local_directory(text: str) -> Path:
    """A local directory for state that the command locks, reads again and replaces."""
    path = local_path(text)
    if path is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not on this machine; name a local directory, where the command keeps "
            "its state"
        )
    check_directory(path)
    return path


def add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="engine that reads the trace; auto: DuckDB for local traces of up to 20,000,000 rows, "
        "else Spark",
    )


def add_spark(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Spark")
    group.add_argument(
        "--master",
        default="local[*]",
        metavar="URL",
        help="Spark master, such as local[2] or spark://host:7077, or sc://host:15002 for Spark "
        "Connect (default: %(default)s)",
    )
    group.add_argument(
        "--memory",
        default="2g",
        metavar="SIZE",
        help="memory of this process on a local master, else of each executor "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--spark",
        type=pair,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Spark setting; may be repeated",
    )


def spark_plan(
    args: argparse.Namespace, settings: Mapping[str, str] = MappingProxyType({})
) -> "SparkPlan":
    """Combines the job's own settings with those of the user, which take precedence."""
    from dovemq.pipeline.session import SparkPlan

    return SparkPlan(args.master, args.memory, more={**settings, **dict(args.spark)})
