"""`dovemq dev …`: programs that developers run beside the service."""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command, add_group, count
from dovemq.cli.interruption import ended_by_signals
from dovemq.cli.output import print_json, print_pairs
from dovemq.cli.pipeline_options import pipeline_job


def add(commands: Commands) -> None:
    parser = add_group(
        commands,
        "dev",
        "start programs that developers need beside the service",
        "dovemq dev spark up",
    )
    kinds = parser.add_subparsers(metavar="KIND", required=True)
    spark = add_group(kinds, "spark", "a Spark cluster on this machine", "dovemq dev spark up")
    _add_spark_up(spark.add_subparsers(metavar="ACTION", required=True))


def _add_spark_up(actions: Commands) -> None:
    parser = add_command(
        actions,
        "up",
        _spark_up,
        "run a Spark cluster until Ctrl-C or SIGTERM; every user of this machine can use it",
        "dovemq dev spark up --workers 2",
    )
    parser.add_argument(
        "--workers",
        type=count,
        default=2,
        metavar="N",
        help="number of workers (default: %(default)s)",
    )
    parser.add_argument(
        "--cores",
        type=count,
        default=1,
        metavar="N",
        help="cores of each worker (default: %(default)s)",
    )
    parser.add_argument(
        "--worker-memory",
        default="2g",
        metavar="SIZE",
        help="memory of each worker for executors (default: %(default)s)",
    )
    parser.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        help="directory of logs and work files (default: a temporary one, removed at the end)",
    )


def _spark_up(args: argparse.Namespace) -> int:
    with pipeline_job():
        from dovemq.testing.daemons import DaemonFailed
        from dovemq.testing.spark_cluster import SparkCluster
    try:
        with (
            ended_by_signals(),
            _place(args.directory) as place,
            SparkCluster(place, args.workers, args.cores, args.worker_memory) as cluster,
        ):
            _announce(args, cluster.master_url, cluster.page_url, place)
            cluster.wait()
    except KeyboardInterrupt:
        return OK
    except DaemonFailed as error:
        raise WrongUse(str(error)) from None
    print("dovemq: the master of the cluster has ended", file=sys.stderr)
    return FAILED


@contextlib.contextmanager
def _place(directory: Path | None) -> Iterator[Path]:
    if directory is not None:
        yield directory.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="dovemq-dev-", ignore_cleanup_errors=True) as made:
        yield Path(made)


def _announce(args: argparse.Namespace, master_url: str, page_url: str, place: Path) -> None:
    if args.json:
        document = {"master_url": master_url, "page_url": page_url, "directory": str(place)}
        print_json({**document, "workers": args.workers})
    else:
        print_pairs([("master", master_url), ("page", page_url), ("directory", place)])
        print(f"to run a job in another terminal:\n  dovemq pipeline … --master {master_url}")
    sys.stdout.flush()
