"""`dovemq cluster size`: front ends by their response time, nodes of the store by its bytes."""

import argparse
import asyncio
import importlib.util
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dovemq.cli.command import OK, CommandParser, Commands, WrongUse, add_server_command
from dovemq.cli.modelling import modelling
from dovemq.cli.target import Target, find_target
from dovemq.cli.values import count, duration_ms, number, output_file
from dovemq.cli.workflow_sizing import consumer_bounds, decision_recorder, report
from dovemq.client import AdminClient
from dovemq.core.errors import InvariantError
from dovemq.server.run import until_stopped
from dovemq.system.clock import SystemClock
from dovemq.system.extras import extra_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dovemq.workflows.sizing.allocators.ports import Allocator
    from dovemq.workflows.sizing.service_loop import ServiceGoals, ServiceSizing
    from dovemq.workflows.sizing.settings import SizingSettings
    from dovemq.workflows.sizing.storage import StorageSettings

ALLOCATORS: Final = ("dry-run", "local", "kubernetes")
RECORD_FILE: Final = "dovemq-front-ends.json"
PORT: Final = "{port}"
PORTS_APART: Final = 10
_GIB: Final = 1 << 30
_EXAMPLE: Final = """\
dovemq cluster size --target-ms 20 --front-end http://dovemq-admin:9325
  dovemq cluster size --node-gib 100 --copies 3 --nodes 3:12 --once"""


def add(actions: Commands) -> None:
    summary = "size front ends by response time and the store by bytes, until Ctrl-C or SIGTERM"
    parser = add_server_command(actions, "size", _run, summary, _EXAMPLE)
    text = "what starts and ends front ends; dry-run only says what it would do"
    parser.choice("--allocator", ALLOCATORS, text, "dry-run")
    _add_front_ends(parser)
    _add_store(parser)
    _add_calm(parser)
    _add_places(parser)
    text = "file that gets a JSON line for each decision"
    parser.option("--decisions", "FILE", text, output_file)
    parser.switch("--once", "decide once, tell why, and end; nothing is carried out")
    parser.switch("--verbose", "tell decisions that change nothing too")


def _add_front_ends(parser: CommandParser) -> None:
    group = parser.group("front ends", "They are sized if --target-ms is given.")
    text = "mean response time of requests, receives left out, in milliseconds"
    group.option("--target-ms", "N", text, count)
    text = "admin API of a front end; a name with several addresses is several front ends"
    group.repeated("--front-end", "URL", text)
    group.option("--bounds", "MIN:MAX", "least and most front ends", str, "1:10")
    text = "present front ends, for dry-run (default: those that are named)"
    group.option("--present", "N", text, count)


def _add_store(parser: CommandParser) -> None:
    group = parser.group("store", "Its nodes are counted if --node-gib is given.")
    group.option("--node-gib", "N", "disk of a node in GiB", count)
    group.option("--copies", "N", "nodes that have each message", count, 1)
    group.option("--nodes", "MIN:MAX", "least and most nodes", str, "1:100")
    text = "present nodes, for allocators that cannot read them (default: the least)"
    group.option("--present-nodes", "N", text, count)
    group.option("--fill", "N", "per cent of a node's disk that may be used", count, 70)


def _add_calm(parser: CommandParser) -> None:
    group = parser.group("calm")
    group.option("--window", "TIME", "sliding window of the measurements", duration_ms, "60s")
    group.option("--every", "TIME", "time between two decisions", duration_ms, "10s")
    group.option("--cool-down", "TIME", "least time between two changes", duration_ms, "60s")
    text = "least time between two changes of the store"
    group.option("--store-cool-down", "TIME", text, duration_ms, "1h")
    text = "time of calm before front ends are released; mistakes double it"
    group.option("--calm", "TIME", text, duration_ms, "10m")
    text = "per cent that the time must lie below the target to be calm"
    group.option("--hysteresis", "N", text, number, 30)


def _add_places(parser: CommandParser) -> None:
    group = parser.group("places")
    text = "command line of a front end, for --allocator local; {port} is its SQS port"
    group.option("--command", "COMMAND", text)
    text = f"port of the first front end; the others are {PORTS_APART} apart"
    group.option("--first-port", "N", text, count, 9400)
    text = "file with the front ends of --allocator local, which a later run takes over"
    group.option("--record", "FILE", text, Path, RECORD_FILE)
    group.option("--log", "FILE", "file that gets the output of the front ends", Path)
    group.option("--namespace", "NAME", "namespace of the Deployment", str, "default")
    group.option("--deployment", "NAME", "Deployment of the front ends", str, "dovemq")
    text = "StatefulSet of the store; without it nodes are told and not added"
    group.option("--stateful-set", "NAME", text)


def _run(args: argparse.Namespace) -> int:
    if args.allocator == "kubernetes" and importlib.util.find_spec("kubernetes") is None:
        raise WrongUse(f"kubernetes is not installed; {extra_missing('kubernetes')}")
    if args.target_ms is None and args.node_gib is None:
        raise WrongUse("give --target-ms for front ends, --node-gib for the store, or both")
    with modelling():
        return asyncio.run(_sized(args, _goals(args)))


async def _sized(args: argparse.Namespace, goals: "ServiceGoals") -> int:
    from dovemq.workflows.sizing.service_loop import ServiceSizing
    from dovemq.workflows.sizing.service_source import AdminServiceSource

    target = find_target(args)
    urls = _Urls(args, target)
    allocators = _allocators(args, len(await urls()))
    sizing = ServiceSizing(
        AdminServiceSource(urls, lambda url: _client(target, url)),
        allocators,
        SystemClock(),
        goals,
        record=decision_recorder(args),
        report=report,
    )
    try:
        if args.once:
            await _watched_once(sizing, args)
        else:
            await sizing.run(until_stopped(), args.every / 1_000)
    finally:
        for each in allocators.values():
            await each.close()
    return OK


async def _watched_once(sizing: "ServiceSizing", args: argparse.Namespace) -> None:
    """Two looks, since rates are differences; only the second decision is told."""
    await sizing.look()
    if args.target_ms is not None:
        await asyncio.sleep(args.window / 1_000)
    await sizing.round()


class _Urls:
    """The admin APIs of the front ends: those that are named, or those that run here."""

    def __init__(self, args: argparse.Namespace, target: Target) -> None:
        self._args, self._target = args, target

    async def __call__(self) -> "Sequence[str]":
        from dovemq.workflows.sizing.allocators.worker_record import read_record
        from dovemq.workflows.sizing.service_source import addresses_of

        args = self._args
        if args.allocator == "local":
            workers = read_record(args.record).workers
            ports = [_port(args, each.place) + 1 for each in workers]
            return [f"http://127.0.0.1:{port}" for port in ports]
        named = args.front_end or [self._target.admin_url or ""]
        return [found for url in named if url for found in await addresses_of(url)]


def _client(target: Target, url: str) -> AdminClient:
    return AdminClient(url, target.key, region=target.region, ca_bundle=target.ca_bundle)


def _port(args: argparse.Namespace, place: int) -> int:
    return int(args.first_port) + PORTS_APART * place


def _allocators(args: argparse.Namespace, named: int) -> "dict[str, Allocator]":
    """An allocator for each part that has a goal."""
    from dovemq.workflows.sizing.allocators.dry_run import DryRunAllocator
    from dovemq.workflows.sizing.front_ends import FRONT_ENDS
    from dovemq.workflows.sizing.storage import STORE

    found: dict[str, Allocator] = {}
    if args.target_ms is not None:
        found[FRONT_ENDS] = _of_front_ends(args, named)
    if args.node_gib is not None:
        nodes = args.present_nodes or consumer_bounds(args.nodes).least
        found[STORE] = DryRunAllocator({STORE: nodes})
        if args.allocator == "kubernetes" and args.stateful_set:
            from dovemq.workflows.sizing.allocators.kubernetes import connected

            name = args.stateful_set
            found[STORE] = connected(args.namespace, name, dry_run=args.once, stateful=True)
    return found


def _of_front_ends(args: argparse.Namespace, named: int) -> "Allocator":
    from dovemq.workflows.sizing.allocators.dry_run import DryRunAllocator
    from dovemq.workflows.sizing.front_ends import FRONT_ENDS

    if args.allocator == "kubernetes":
        from dovemq.workflows.sizing.allocators.kubernetes import connected

        return connected(args.namespace, args.deployment, dry_run=args.once)
    if args.allocator == "local" and not args.once:
        return _local(args)
    return DryRunAllocator({FRONT_ENDS: args.present or named or 1})


def _local(args: argparse.Namespace) -> "Allocator":
    from dovemq.workflows.sizing.allocators.local import LocalAllocator
    from dovemq.workflows.sizing.allocators.worker_record import RecordInUse, WorkerRecord

    if PORT not in (args.command or ""):
        raise WrongUse(f"--allocator local needs --command with {PORT}")
    words = shlex.split(args.command)
    try:
        record = WorkerRecord(args.record)
    except RecordInUse as error:
        raise WrongUse(str(error)) from None
    except OSError as error:
        raise WrongUse(f"--record {args.record}: {error.strerror}") from None

    def command_of(_: str, place: int) -> "Sequence[str]":
        return [word.replace(PORT, str(_port(args, place))) for word in words]

    return LocalAllocator(command_of, record, log=args.log)


def _goals(args: argparse.Namespace) -> "ServiceGoals":
    from dovemq.workflows.sizing.service_loop import ServiceGoals

    try:
        front_ends = None if args.target_ms is None else _front_end_goal(args)
        store = None if args.node_gib is None else _store_goal(args)
    except InvariantError as error:
        raise WrongUse(str(error)) from None
    return ServiceGoals(front_ends, store, args.window)


def _front_end_goal(args: argparse.Namespace) -> "SizingSettings":
    from dovemq.workflows.sizing.settings import SPAN_MS_MIN, SizingSettings

    return SizingSettings(
        target_ms=args.target_ms,
        hysteresis=args.hysteresis / 100,
        cool_down_ms=args.cool_down,
        calm_ms=args.calm,
        span_ms_min=min(args.window, SPAN_MS_MIN),
        bounds_of_others=consumer_bounds(args.bounds),
    )


def _store_goal(args: argparse.Namespace) -> "StorageSettings":
    from dovemq.workflows.sizing.storage import StorageSettings

    nodes = consumer_bounds(args.nodes)
    return StorageSettings(
        args.node_gib * _GIB,
        args.copies,
        args.fill / 100,
        args.hysteresis / 100,
        least=nodes.least,
        most=nodes.most,
        cool_down_ms=args.store_cool_down,
    )
