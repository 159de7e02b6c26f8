"""`dovemq faults run`: a load run while network, clients, server, disk and clock fail."""

import argparse
import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from dovemq.cli.command import Commands, WrongUse, add_command, add_group, add_target
from dovemq.cli.load_check import add_rules, chosen_rules
from dovemq.cli.load_options import add_options, plan_of
from dovemq.cli.load_run import document, exit_code, print_figures, stop_on_interrupt
from dovemq.cli.output import Progress, print_pairs, print_result
from dovemq.cli.values import existing_file, new_directory, output_file
from dovemq.configuration import read_toml
from dovemq.core.access import AccessKey
from dovemq.system.key_file import key_path, read_key

if TYPE_CHECKING:
    from dovemq.load.faults.decisions import Courses
    from dovemq.load.faults.fault_log import FaultLogHeader
    from dovemq.load.faults.process import Announcement
    from dovemq.load.faults.run import FaultRunResult
    from dovemq.load.plan import LoadPlan


def add(commands: Commands) -> None:
    summary = "inject faults under load, and check that no message is lost"
    example = "dovemq faults run storm.toml --messages 10000"
    _add_run(add_group(commands, "faults", summary, example))


def _add_run(actions: Commands) -> None:
    summary = (
        "run a load under the faults of a file; takes the options of `load run` except --trace"
    )
    example = "dovemq faults run storm.toml --messages 10000 --send-batch 10 --log storm.log"
    parser = add_command(actions, "run", _run, summary, example)
    text = "TOML file of the faults"
    parser.add_argument("spec", nargs="?", type=existing_file, metavar="SPEC", help=text)
    parser.option("--log", "FILE", "new file for a log of the faults", _new_file)
    text = "log of an earlier run, whose faults are repeated"
    parser.option("--replay", "LOG", text, existing_file)
    text = (
        "new directory for data and log of the server; the run starts a server unless "
        "--endpoint-url, --port or --data names one"
    )
    parser.option("--server", "DIR", text, new_directory, dest="place")
    add_options(parser)
    add_rules(parser)
    add_target(parser)


def _new_file(text: str) -> Path:
    path = output_file(text)
    if path.exists():
        raise argparse.ArgumentTypeError(f"{text!r} exists; name a new file")
    return path


def _run(args: argparse.Namespace) -> int:
    if (args.spec is None) == (args.replay is None):
        raise WrongUse("name either a file of faults or, with --replay, the log of an earlier run")
    plan = plan_of(args)
    outcome = uvloop.run(_ran(args, plan))
    found = {**document(plan, outcome.result), **_document(outcome)}
    code = exit_code(failed=outcome.failed, interrupted=outcome.result.interrupted)
    return print_result(args, found, lambda: _print(outcome), code)


async def _ran(args: argparse.Namespace, plan: "LoadPlan") -> "FaultRunResult":
    from dovemq.load.faults.fault_log import FaultLog
    from dovemq.load.faults.run import Stage, run
    from dovemq.load.run import Live

    heading, courses = _courses(args)
    with contextlib.ExitStack() as ending:
        place = args.place
        if place is None:
            place = Path(ending.enter_context(tempfile.TemporaryDirectory())) / "server"
        log = ending.enter_context(FaultLog(heading, args.log))
        named = args.endpoint_url or args.data or args.port
        endpoint = plan.endpoint if named else None
        stage = Stage(place, _key_of, log, endpoint, args.journal, chosen_rules(args))
        stop, live = stop_on_interrupt(), Live()
        async with Progress(lambda: f"{live}; {log.fired.total()} faults"):
            return await run(heading.spec, courses, plan, stage, stop=stop, live=live)


def _courses(args: argparse.Namespace) -> tuple["FaultLogHeader", "Courses"]:
    from dovemq.load.faults.decisions import Drawn, Replayed
    from dovemq.load.faults.fault_log import FaultLogHeader, read_log
    from dovemq.load.faults.spec import parse_spec

    if args.replay is not None:
        heading, logged = read_log(args.replay)
        return heading, Replayed(logged)
    spec = parse_spec(read_toml(args.spec, "name another file"), str(args.spec))
    return FaultLogHeader(spec, args.seed), Drawn(spec, args.seed)


def _key_of(announced: "Announcement") -> AccessKey:
    return read_key(key_path(Path(announced.data)), announced.account)


def _document(outcome: "FaultRunResult") -> dict[str, object]:
    return {
        "endpoint_url": outcome.endpoint_url,
        "failed": outcome.failed,
        "faults_fired": outcome.fired,
        "server_starts": outcome.starts,
        "verification": outcome.findings,
    }


def _print(outcome: "FaultRunResult") -> None:
    print_figures(outcome.result)
    print()
    fired = ", ".join(f"{count} {mishap}" for mishap, count in outcome.fired.items())
    lines: list[tuple[str, object]] = [("faults fired", fired or "none")]
    if outcome.starts:
        lines.append(("server starts", outcome.starts))
        lines.append(("store", "sound" if not outcome.findings else "damaged"))
    print_pairs([*lines, *(("found", finding) for finding in outcome.findings)])
