"""`dovemq load check`: accounts for every message of a run from its journals."""

import argparse
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from dovemq.cli.command import FAILED, OK, CommandParser, Commands, add_command
from dovemq.cli.modelling import modelling
from dovemq.cli.output import Progress, print_pairs, print_result
from dovemq.cli.values import count, number

if TYPE_CHECKING:
    from dovemq.load.checker import Rules
    from dovemq.load.judgement import CheckReport

FAULTS: Final = ("lost", "corrupted", "strange", "returned", "collided", "doubled", "named", "late")


def add(actions: Commands) -> None:
    summary = "account for every message of a run from its journals"
    example = "dovemq load check ./journals --allow collided"
    parser = add_command(actions, "check", _check, summary, example)
    text = "directory of journals, or one journal"
    parser.add_argument("journals", nargs="+", type=_place, metavar="DIR", help=text)
    add_rules(parser)
    text = "most rows in memory, at about 200 bytes each"
    parser.option("--rows-max", "N", text, count, 2_000_000)


def add_rules(parser: CommandParser) -> None:
    """Adds the options that say what counts as a failure of the service."""
    text = "require the order of each sender's messages also on standard queues"
    parser.switch("--in-order", text)
    text = "violation that is counted and does not fail the check; may be repeated"
    parser.add_argument("--allow", action="append", default=[], choices=FAULTS, help=text)
    text = "largest difference between the clocks of clients"
    parser.option("--clock-skew", "MS", text, number, 0)
    text = "messages of each violation to print with their history"
    parser.option("--histories", "N", text, number, 10)


class _Reader:
    """Counts the rows read, and ends the reading thread when the command ends."""

    def __init__(self) -> None:
        self.rows = 0
        self.stopped = False

    def read(self, rows: int) -> None:
        if self.stopped:
            raise InterruptedError("the check was cancelled")
        self.rows += rows


def _place(text: str) -> Path:
    path = Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{text!r} does not exist; name a directory of journals")
    return path


def _check(args: argparse.Namespace) -> int:
    report = asyncio.run(_checked(args))
    document = {**structs.asdict(report), "failed": report.failed}
    code = FAILED if report.failed else OK
    return print_result(args, document, lambda: _print_report(report), code)


def chosen_rules(args: argparse.Namespace) -> "Rules":
    from dovemq.load import checker, judgement

    return checker.Rules(
        in_order=args.in_order,
        allowed=frozenset(map(judgement.Violation, args.allow)),
        slack=judgement.Slack(clock_us=1_000 * args.clock_skew),
        histories_max=args.histories,
    )


async def _checked(args: argparse.Namespace) -> "CheckReport":
    with modelling():
        # Imported here, because other commands need neither these modules nor the time to load
        # them.
        from dovemq.load import checker, reading
    reader = _Reader()
    async with Progress(lambda: f"{reader.rows} rows read"):
        try:
            return await asyncio.to_thread(
                checker.check,
                reading.open_journals(args.journals),
                chosen_rules(args),
                rows_max=args.rows_max,
                progress=reader.read,
            )
        finally:
            reader.stopped = True


def _print_report(report: "CheckReport") -> None:
    rates = ((name.replace("_", " "), f"{rate:.6g}") for name, rate in report.rates.items())
    print_pairs([*request_lines(report), *rates, *fault_lines(report)])
    print_culprits(report)


def request_lines(report: "CheckReport") -> Iterator[tuple[str, object]]:
    for what, requests in (("sends", report.sends), ("settles", report.settles)):
        yield (
            what,
            f"{requests.acknowledged} acknowledged, {requests.refused} refused, "
            f"{requests.unknown} unknown",
        )
    yield "messages", f"{report.messages} ({report.in_doubt} more in doubt)"
    yield "received", f"{report.received} in {report.receives} receives, {report.left} not settled"
    duplicates = (f"{times} {cause}" for cause, times in report.duplicates.items() if times)
    yield "duplicates", ", ".join(duplicates) or "none"


def fault_lines(report: "CheckReport") -> Iterator[tuple[str, object]]:
    for fault, times in report.faults.items():
        if times:
            yield str(fault), f"{times} (allowed)" if fault in report.allowed else times
    yield "verdict", "failed" if report.failed else "every message is accounted for"


def print_culprits(report: "CheckReport") -> None:
    for culprit in report.culprits:
        print(
            f"\n{', '.join(culprit.faults)}: message {culprit.send_seq} of sender "
            f"{culprit.sender} to {culprit.queue}"
        )
        for line in culprit.history:
            print(f"  {line}")
