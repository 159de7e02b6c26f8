"""`dovemq workflow manager`: the resource manager, which gives topics their consumers."""

import argparse
import asyncio
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import OK, CommandParser, Commands, WrongUse, add_server_command
from dovemq.cli.modelling import modelling
from dovemq.cli.output import print_result, time_text
from dovemq.cli.target import Target, find_target
from dovemq.cli.values import count, duration_ms, number, output_file, pair
from dovemq.core.errors import InvariantError
from dovemq.server.run import until_stopped
from dovemq.system.clock import SystemClock
from dovemq.system.extras import extra_missing

if TYPE_CHECKING:
    from dovemq.workflows.sizing.allocators.ports import Allocator
    from dovemq.workflows.sizing.decisions import SizingDecision
    from dovemq.workflows.sizing.settings import ConsumerBounds, SizingSettings

ALLOCATORS: Final = ("dry-run", "local", "kubernetes", "keda")
METHODS: Final = ("greedy", "exact", "random")
RECORD_FILE: Final = "dovemq-workers.json"
_EXAMPLE: Final = """\
dovemq workflow manager --target 2s
  dovemq workflow manager app:tasks --allocator local --budget 5 --threshold 30s"""


def add(actions: Commands) -> None:
    summary = "size the consumers of topics by the response time of jobs, until Ctrl-C or SIGTERM"
    parser = add_server_command(actions, "manager", _run, summary, _EXAMPLE)
    text = "module of the workers' functions, for --allocator local"
    parser.add_argument("tasks", nargs="?", metavar="MODULE", help=text)
    text = "what starts and ends consumers; dry-run only says what it would do"
    parser.choice("--allocator", ALLOCATORS, text, "dry-run")
    _add_goal(parser)
    _add_calm(parser)
    _add_consumers(parser)
    text = "file that gets a JSON line for each decision"
    parser.option("--decisions", "FILE", text, output_file)
    parser.switch("--once", "decide once, tell why, and end; nothing is carried out")
    parser.switch("--verbose", "tell decisions that change nothing too")


def _add_goal(parser: CommandParser) -> None:
    group = parser.group("goal", "One of --budget (MinTime) and --target (MinCost) is needed.")
    goal = group.add_mutually_exclusive_group(required=True)
    text = "consumers beyond the least ones of all topics, to be spent for the shortest time"
    goal.add_argument("--budget", metavar="N", type=number, help=text)
    text = "mean response time of jobs, to be reached with the fewest consumers"
    goal.add_argument("--target", metavar="TIME", type=duration_ms, help=text)
    text = "mean response time above which consumers change (default: the target)"
    group.option("--threshold", "TIME", text, duration_ms)
    text = "search: greedy as in the paper, exact for few topics, random as a baseline"
    group.choice("--method", METHODS, text, "greedy")
    group.option("--seed", "N", "seed of --method random", number, 0)


def _add_calm(parser: CommandParser) -> None:
    group = parser.group("calm")
    group.option("--window", "TIME", "sliding window of the measurements", duration_ms, "60s")
    group.option("--every", "TIME", "time between two decisions", duration_ms, "5s")
    group.option("--cool-down", "TIME", "least time between two changes", duration_ms, "30s")
    text = "time of calm before consumers are released; mistakes double it"
    group.option("--calm", "TIME", text, duration_ms, "5m")
    text = "per cent that the time must lie below the threshold to be calm"
    group.option("--hysteresis", "N", text, number, 30)
    text = "change only when the response time has risen, not when the rates overload a topic"
    group.switch("--measured-only", text)


def _add_consumers(parser: CommandParser) -> None:
    group = parser.group("consumers")
    group.repeated("--bounds", "TOPIC=MIN:MAX", "least and most consumers of a topic", pair)
    text = "least and most consumers of all other topics"
    group.option("--bounds-of-others", "MIN:MAX", text, str, "1:1000")
    text = "service time of a topic until one is measured, in seconds"
    group.repeated("--service", "TOPIC=SECONDS", text, pair)
    text = "present consumers, for dry-run and keda (default: the least)"
    group.repeated("--present", "TOPIC=N", text, pair)
    text = "file with the workers of --allocator local, which a later manager takes over"
    group.option("--workers", "FILE", text, Path, RECORD_FILE)
    group.option("--workers-log", "FILE", "file that gets the output of the workers", Path)
    group.option("--namespace", "NAME", "namespace of the Deployments", str, "default")
    text = "Deployment of a topic; TOPIC stands for its name in lower case"
    group.option("--deployment", "NAME", text, str, "worker-TOPIC")
    group.option("--keda-host", "HOST", "address of the external scaler", str, "127.0.0.1")
    group.option("--keda-port", "N", "port of the external scaler", count, 9400)


_PACKAGES: Final = {"kubernetes": "kubernetes", "keda": "grpc"}
"""The package that an allocator needs beside the models, which its extra brings."""


def _run(args: argparse.Namespace) -> int:
    package = _PACKAGES.get(args.allocator)
    if package is not None and importlib.util.find_spec(package) is None:
        raise WrongUse(f"{package} is not installed; {extra_missing(args.allocator)}")
    with modelling():
        settings = _settings(args)
        return asyncio.run(_managed(args, settings))


async def _managed(args: argparse.Namespace, settings: "SizingSettings") -> int:
    from dovemq.workflows.sizing.loop import SizingLoop
    from dovemq.workflows.sizing.monitor import MonitorSettings
    from dovemq.workflows.sizing.publishing import DecisionPublisher
    from dovemq.workflows.sizing.source import JobSource

    target = find_target(args)
    allocator = await _allocator(args, target, settings)
    seconds = {name: 1_000.0 * _number(name, text) for name, text in args.service}
    async with target.workflows() as client:
        publisher = DecisionPublisher(client, allocator.name)
        publishing: dict[str, Any] = {} if args.once else {"publish": publisher.publish}
        loop = SizingLoop(
            JobSource(client),
            allocator,
            SystemClock(),
            settings,
            MonitorSettings(args.window, service_ms_start=seconds),
            record=decision_recorder(args),
            report=report,
            **publishing,
        )
        try:
            if args.once:
                await loop.round()
            else:
                await loop.run(until_stopped(), args.every / 1_000)
        finally:
            await allocator.close()
    return OK


async def _allocator(
    args: argparse.Namespace, target: Target, settings: "SizingSettings"
) -> "Allocator":
    if args.allocator == "local" and not args.once:
        return _local(args, target)
    if args.allocator == "kubernetes":
        from dovemq.workflows.sizing.allocators.kubernetes import connected

        return connected(args.namespace, args.deployment, dry_run=args.once)
    if args.allocator == "keda" and not args.once:
        from dovemq.workflows.sizing.allocators.keda import serving

        return await serving(args.keda_host, args.keda_port, _present(args))
    from dovemq.workflows.sizing.allocators.dry_run import DryRunAllocator

    return DryRunAllocator(_present(args))


def _present(args: argparse.Namespace) -> dict[str, int]:
    return {name: int(_number(name, text)) for name, text in args.present}


def _local(args: argparse.Namespace, target: Target) -> "Allocator":
    from dovemq.workflows.sizing.allocators.local import LocalAllocator
    from dovemq.workflows.sizing.allocators.worker_record import RecordInUse, WorkerRecord

    if not args.tasks:
        raise WrongUse("--allocator local needs the module of the workers' functions")
    try:
        record = WorkerRecord(args.workers)
    except RecordInUse as error:
        raise WrongUse(str(error)) from None
    except OSError as error:
        raise WrongUse(f"--workers {args.workers}: {error.strerror}") from None
    command = [sys.executable, "-m", "dovemq", "workflow", "worker", args.tasks]
    command += ["--kept-in", str(record.path), "--endpoint-url", target.endpoint_url]
    if target.admin_url:
        command += ["--admin-url", target.admin_url]
    for flag, value in (("--data", args.data), ("--profile", args.profile)):
        command += [flag, str(value)] if value else []
    return LocalAllocator(
        lambda topic, _: [*command, "--topic", topic], record, log=args.workers_log
    )


def _settings(args: argparse.Namespace) -> "SizingSettings":
    from dovemq.workflows.sizing.settings import SPAN_MS_MIN, SizingSettings

    if args.budget is not None and args.threshold is None:
        raise WrongUse("--budget needs --threshold: a mean response time above which to act")
    try:
        return SizingSettings(
            budget=args.budget,
            target_ms=args.target,
            threshold_ms=args.threshold,
            method=args.method,
            hysteresis=args.hysteresis / 100,
            cool_down_ms=args.cool_down,
            calm_ms=args.calm,
            foresee=not args.measured_only,
            span_ms_min=min(args.window, SPAN_MS_MIN),
            bounds={name: consumer_bounds(text) for name, text in args.bounds},
            bounds_of_others=consumer_bounds(args.bounds_of_others),
            seed=args.seed,
        )
    except InvariantError as error:
        raise WrongUse(str(error)) from None


def consumer_bounds(text: str) -> "ConsumerBounds":
    from dovemq.workflows.sizing.settings import ConsumerBounds

    least, sign, most = text.partition(":")
    if not (sign and least.isdecimal() and most.isdecimal()):
        raise WrongUse(f"{text!r} is not MIN:MAX, such as 1:20")
    return ConsumerBounds(int(least), int(most))


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1e9:
        raise WrongUse(f"{name}={text}: a number above 0 is needed")
    return value


def decision_recorder(args: argparse.Namespace) -> "Callable[[SizingDecision], None]":
    def record(decision: "SizingDecision") -> None:
        if args.decisions is not None:
            with args.decisions.open("ab") as stream:
                stream.write(decision.line())
        if decision.changes or args.once or args.verbose:
            print_result(args, decision.as_dict(), lambda: _print(decision))
            sys.stdout.flush()

    return record


def _print(decision: "SizingDecision") -> None:
    print(f"{time_text(decision.now_ms)}  {decision.text}")
    for name, found in (("now", decision.predicted_before), ("then", decision.predicted_after)):
        if found is not None and (decision.changes or name == "now"):
            print(f"  predicted {name}: {_times(found.as_dict())}")


def _times(prediction: Mapping[str, Any]) -> str:
    def shown(time_ms: float | None) -> str:
        return "unstable" if time_ms is None else f"{time_ms / 1_000:.3g} s"

    types = ", ".join(f"{name} {shown(each)}" for name, each in prediction["by_type_ms"].items())
    return f"{shown(prediction['all_jobs_ms'])} for all jobs ({types})"


def report(text: str) -> None:
    print(f"dovemq: {text}", file=sys.stderr, flush=True)
