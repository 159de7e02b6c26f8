"""`dovemq pipeline monitor`: the consistency of queues while their traces grow."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import OK, Commands, WrongUse, add_command, add_target
from dovemq.cli.interruption import ended_by_signals, set_by_interruption
from dovemq.cli.output import fields, print_result, print_table, time_text
from dovemq.cli.pipeline_options import add_spark, local_directory, pipeline_job, spark_plan
from dovemq.cli.target import Target, find_target
from dovemq.cli.values import count, duration_ms
from dovemq.client.errors import ClientError, Refused
from dovemq.pipeline.places import local_path

if TYPE_CHECKING:
    from dovemq.pipeline.monitor.job import Batch

SOURCE: Final = "dovemq pipeline monitor"
_MS_US: Final = 1_000
_PUBLISHED: Final = (
    "messages",
    "received",
    "duplicates",
    "open",
    "ordered",
    "out_of_order",
    "displacement",
)
_COLUMNS: Final = ("messages", "received", "duplicates", "absent", "open", "out_of_order")


def add(kinds: Commands) -> None:
    summary = "watch loss, duplicates and order of queues while their traces grow"
    example = "dovemq pipeline monitor ./trace --out ./watched --publish"
    parser = add_command(kinds, "monitor", _run, summary, example)
    text = "directory of a trace, or a URI that Spark can read"
    parser.add_argument("traces", metavar="TRACES", help=text)
    text = "directory of figures, state and checkpoint, from which a monitor continues"
    parser.option("--out", "DIR", text, local_directory, required=True)
    parser.option("--late", "TIME", "time to wait for rows in later files", duration_ms, "60s")
    text = "time after which a message that was not received is lost"
    parser.option("--horizon", "TIME", text, duration_ms, "15m")
    parser.option("--messages-max", "N", "most remembered messages of a queue", count, 1_000_000)
    parser.option("--files-max", "N", "most files of a batch", count, 8)
    when = parser.exclusive()
    text = "time between two searches for new files"
    when.option("--every", "TIME", text, duration_ms, "10s")
    when.switch("--available-now", "read the files that exist, and end")
    parser.switch("--publish", "send the figures to the admin API of the server after each batch")
    add_spark(parser)
    add_target(parser)


def _run(args: argparse.Namespace) -> int:
    local = local_path(args.traces)
    if local is not None and not local.is_dir():
        raise WrongUse(f"{args.traces} is not a directory")
    if args.every < 1:
        raise WrongUse("--every must be at least 1s")
    target = find_target(args) if args.publish else None
    with pipeline_job():
        from dovemq.pipeline.monitor.directory import MonitorDirectory, Terms
        from dovemq.pipeline.monitor.job import SETTINGS, Monitor, await_end
        from dovemq.pipeline.monitor.watch import Bounds
        from dovemq.pipeline.session import spark_session

    place = MonitorDirectory(args.out.absolute())
    traces = args.traces if local is None else str(local.absolute())
    bounds = Bounds(args.late * _MS_US, args.horizon * _MS_US, args.messages_max)
    monitor = Monitor(traces, place, bounds, args.files_max, _teller(args, target))
    every_seconds = None if args.available_now else args.every / 1_000
    plan = spark_plan(args, SETTINGS)
    with (
        ended_by_signals(),
        place.held(Terms(traces, bounds)),
        spark_session(plan) as session,
        # Installed after the session, which has its own handler of Ctrl-C that interrupts batches.
        set_by_interruption() as stopping,
    ):
        await_end(monitor.start(session, every_seconds), monitor, stopping)
    return OK


def _teller(args: argparse.Namespace, target: Target | None) -> "Callable[[Batch], None]":
    def tell(batch: "Batch") -> None:
        document = {"batch": batch.number, **fields(batch, "rows", "quarantined")}
        document["queues"] = batch.figures
        print_result(args, document, lambda: _print_batch(batch))
        sys.stdout.flush()
        if target is not None:
            asyncio.run(_publish(target, batch.figures))

    return tell


def _print_batch(batch: "Batch") -> None:
    newest = max((row["last_us"] for row in batch.figures), default=0)
    bad = f", {batch.quarantined} of them invalid" if batch.quarantined else ""
    print(f"\nbatch {batch.number}: {batch.rows} rows{bad}; up to {time_text(newest // 1_000)}")
    heads = [name.upper().replace("_", " ") for name in ("queue", *_COLUMNS, "displacement")]
    print_table(heads, [_cells(row) for row in batch.figures])
    for row in batch.figures:
        if row["unordered"]:
            print(f"{row['queue']}: {order_note(row)}")


def _cells(row: Mapping[str, Any]) -> list[object]:
    cells = [row["queue"], *(row[name] for name in _COLUMNS), f"{row['average_displacement']:.3g}"]
    if row["unordered"] and not row["ordered"]:
        cells[-2:] = ["-", "-"]
    return cells


def order_note(row: Mapping[str, Any]) -> str:
    """Says of how many messages the order is not judged, and why."""
    if row["renumbered"]:
        reason = (
            "several programs number their messages under one sender; give each sender an account "
            "of its own, or number all of them together in the attribute dovemq.seq"
        )
    elif row["late"]:
        reason = f"{row['late']} rows came later than --late; use a longer one"
    else:
        reason = "their numbers were given up or used twice; a longer --horizon may help"
    return f"order not judged for {row['unordered']} of {row['received']} messages: {reason}"


async def _publish(target: Target, figures: Sequence[Mapping[str, Any]]) -> None:
    """Sends figures to the server; what it refuses is sent again after the next batch."""
    async with target.admin() as client:
        for row in figures:
            account, _, name = row["queue"].partition("/")
            try:
                await client.report_consistency(account, name, _measurement(row))
            except Refused as error:
                # The queue was removed.
                if error.code == "QueueMissing":
                    continue
                print(f"dovemq: {row['queue']} is not published: {error}", file=sys.stderr)
            except ClientError as error:
                print(f"dovemq: nothing is published: {error}", file=sys.stderr)
                return


def _measurement(row: Mapping[str, Any]) -> dict[str, Any]:
    counts = {name: row[name] for name in _PUBLISHED}
    return {
        "source": SOURCE,
        "from_ms": row["first_us"] // 1_000,
        "to_ms": row["last_us"] // 1_000,
        "lost": row["absent"] + row["corrupted"],
        **counts,
    }
