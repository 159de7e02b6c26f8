"""`dovemq load run`: runs senders and receivers on any SQS endpoint, and prints the results."""

import argparse
import asyncio
import importlib.util
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import uvloop

from dovemq.cli.command import FAILED, INTERRUPTED, OK, Commands, WrongUse, add_command, add_target
from dovemq.cli.load_check import (
    add_rules,
    chosen_rules,
    fault_lines,
    print_culprits,
    request_lines,
)
from dovemq.cli.load_options import add_options, plan_of
from dovemq.cli.output import Progress, fields, print_pairs, print_result, print_table
from dovemq.cli.values import location
from dovemq.core.locations import Location
from dovemq.system.collector import calm_collector
from dovemq.system.extras import extra_missing

if TYPE_CHECKING:
    from dovemq.load.plan import LoadPlan
    from dovemq.load.results import LoadResult, Repetition

_UNITS: Final = {
    "send rate": "messages/s",
    "receive+delete rate": "messages/s",
    "rate": "per message",
    "p50": "ms",
    "p95": "ms",
    "p99": "ms",
    "CPU": "µs per message",
    "displacement": "places",
}
"""Units by the whole name of a figure, or by its last word."""
_INTERRUPTIONS: Final = (signal.SIGINT, signal.SIGTERM)


def add(actions: Commands) -> None:
    summary = "send and receive messages, measure rates and times, and account for every message"
    example = "dovemq load run --senders 8 --receivers 8 --messages 1000"
    parser = add_command(actions, "run", _run, summary, example)
    add_options(parser)
    text = "directory or URI of a lifecycle trace of the run"
    parser.option("--trace", "PLACE", text, location, dest="traces")
    add_rules(parser)
    add_target(parser)


def _run(args: argparse.Namespace) -> int:
    plan = plan_of(args)
    result = uvloop.run(_ran(args, plan))
    code = exit_code(failed=result.failed, interrupted=result.interrupted)
    return print_result(args, document(plan, result), lambda: print_figures(result), code)


def exit_code(*, failed: bool, interrupted: bool) -> int:
    return FAILED if failed else INTERRUPTED if interrupted else OK


async def _ran(args: argparse.Namespace, plan: "LoadPlan") -> "LoadResult":
    from dovemq.load.run import Live, run

    if args.traces is not None:
        _check_traces(args.traces)
    calm_collector()
    stop, live = stop_on_interrupt(), Live()
    async with Progress(lambda: str(live)):
        return await run(
            plan,
            journals=args.journal,
            traces=args.traces,
            rules=chosen_rules(args),
            stop=stop,
            live=live,
        )


def _check_traces(place: Location) -> None:
    """Checks the place before the run, so that the measurements are not lost with the trace."""
    if importlib.util.find_spec("pyarrow") is None:
        raise WrongUse(f"--trace needs pyarrow; {extra_missing('trace')}")
    from dovemq.telemetry.remote import FolderUnusable, open_folder

    try:
        open_folder(place)
    except FolderUnusable as error:
        raise WrongUse(f"--trace: {error}") from None


def stop_on_interrupt() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        stop.set()
        # A second interrupt ends the command at once.
        for number in _INTERRUPTIONS:
            loop.remove_signal_handler(number)

    for number in _INTERRUPTIONS:
        loop.add_signal_handler(number, interrupted)
    return stop


def document(plan: "LoadPlan", result: "LoadResult") -> dict[str, Any]:
    names = ("run", "failed", "interrupted", "failure", "leftovers", "figures", "repetitions")
    return {"endpoint_url": plan.endpoint.url, **fields(result, *names)}


def print_figures(result: "LoadResult") -> None:
    repeated = len(result.repetitions) > 1
    heads = ("FIGURE", "MEDIAN", "LOW", "HIGH", "UNIT") if repeated else ("FIGURE", "VALUE", "UNIT")
    rows = []
    for name, figure in result.figures.items():
        values = (figure.median, figure.low, figure.high) if repeated else (figure.median,)
        unit = _UNITS.get(name) or _UNITS[name.rpartition(" ")[2]]
        rows.append((name, *(f"{value:.6g}" for value in values), unit))
    print_table(heads, rows)
    for place, each in enumerate(result.repetitions, 1):
        print(f"\nrepetition {place}" if repeated else "")
        print_pairs(_counts(each))
        print_culprits(each.report)
    for url in result.leftovers:
        print(f"\nnot removed: {url}")
    if result.failure is not None:
        print(f"\nended early: {result.failure}")
    elif result.interrupted:
        print("\ninterrupted: missing messages do not count as lost")


def _counts(each: "Repetition") -> Iterator[tuple[str, object]]:
    yield "seconds", f"{each.seconds:.3f}"
    yield from request_lines(each.report)
    yield from fault_lines(each.report)
    if each.misses:
        yield "empty receives", each.misses
    if each.foreign:
        yield "foreign messages", each.foreign
    for what, times in each.failures.items():
        yield f"failed {what}", times
