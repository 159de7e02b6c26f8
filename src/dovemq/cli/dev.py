"""`dovemq dev …`: programs that developers run beside the service."""

import argparse
import sys
from pathlib import Path

from dovemq.cli import dev_stores
from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command, add_group
from dovemq.cli.interruption import ended_by_signals
from dovemq.cli.output import pair_lines, print_result
from dovemq.cli.pipeline_options import directory_or_temporary, pipeline_job
from dovemq.cli.values import count


def add(commands: Commands) -> None:
    summary = "start programs that developers need beside the service"
    example = "dovemq dev spark up"
    kinds = add_group(commands, "dev", summary, example, "KIND")
    _add_spark_up(add_group(kinds, "spark", "a Spark cluster on this machine", example))
    dev_stores.add(kinds)


def _add_spark_up(actions: Commands) -> None:
    summary = "run a Spark cluster until Ctrl-C or SIGTERM; every user of this machine can use it"
    parser = add_command(actions, "up", _spark_up, summary, "dovemq dev spark up --workers 2")
    parser.option("--workers", "N", "number of workers", count, 2)
    parser.option("--cores", "N", "cores of each worker", count, 1)
    parser.option("--worker-memory", "SIZE", "memory of each worker for executors", default="2g")
    text = "directory of logs and work files (default: a temporary one, removed at the end)"
    parser.option("--directory", "DIR", text, Path)


def _spark_up(args: argparse.Namespace) -> int:
    with pipeline_job():
        from dovemq.testing.daemons import DaemonFailed
        from dovemq.testing.spark_cluster import SparkCluster
    try:
        with (
            ended_by_signals(),
            directory_or_temporary(args.directory, "dovemq-dev-") as place,
            SparkCluster(place.absolute(), args.workers, args.cores, args.worker_memory) as cluster,
        ):
            _announce(args, cluster.master_url, cluster.page_url, place.absolute())
            cluster.wait()
    except KeyboardInterrupt:
        return OK
    except DaemonFailed as error:
        raise WrongUse(str(error)) from None
    print("dovemq: the master of the cluster has ended", file=sys.stderr)
    return FAILED


def _announce(args: argparse.Namespace, master_url: str, page_url: str, place: Path) -> None:
    document = {"master_url": master_url, "page_url": page_url, "directory": str(place)}
    lines = pair_lines([("master", master_url), ("page", page_url), ("directory", place)])
    hint = f"to run a job in another terminal:\n  dovemq pipeline … --master {master_url}"
    print_result(args, {**document, "workers": args.workers}, "\n".join([*lines, hint]))
    sys.stdout.flush()
