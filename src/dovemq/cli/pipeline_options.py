"""Options and checks that the pipeline commands share: extras, output places, the Spark session."""

import argparse
import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from dovemq.cli.command import CommandParser
from dovemq.cli.interruption import Interruption, ended_soon
from dovemq.cli.modelling import modelling
from dovemq.cli.values import check_directory, pair
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


@contextlib.contextmanager
def directory_or_temporary(directory: Path | None, prefix: str) -> Iterator[Path]:
    """The given directory, or a temporary one that is removed at the end."""
    if directory is not None:
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as made:
        yield Path(made)


def add_engine(parser: CommandParser) -> None:
    text = (
        "engine that reads the trace; auto: DuckDB for local traces of up to 20,000,000 rows, "
        "else Spark"
    )
    parser.choice("--engine", ENGINES, text, "auto")


def add_spark(parser: CommandParser) -> None:
    group = parser.group("Spark")
    text = (
        "Spark master, such as local[2] or spark://host:7077, or sc://host:15002 for Spark Connect"
    )
    group.option("--master", "URL", text, default="local[*]")
    text = "memory of this process on a local master, else of each executor"
    group.option("--memory", "SIZE", text, default="2g")
    group.repeated("--spark", "NAME=VALUE", "Spark setting", pair)


def spark_plan(
    args: argparse.Namespace, settings: Mapping[str, str] = MappingProxyType({})
) -> "SparkPlan":
    """Combines the job's own settings with those of the user, which take precedence."""
    from dovemq.pipeline.session import SparkPlan

    return SparkPlan(args.master, args.memory, more={**settings, **dict(args.spark)})
