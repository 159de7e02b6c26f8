"""`dovemq dev cassandra|redis|postgres`: stores on this machine, for trials and tests."""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dovemq.cli.command import FAILED, OK, CommandParser, Commands, WrongUse, add_command, add_group
from dovemq.cli.interruption import ended_by_signals
from dovemq.cli.output import pair_lines, print_result
from dovemq.cli.values import check_directory, count
from dovemq.core.errors import DoveError

if TYPE_CHECKING:
    from dovemq.testing.cluster_record import ClusterRecord
    from dovemq.testing.local_cluster import LocalCluster

NODES_MAX: Final = 3
_PORT_MAX: Final = 55_535
"""The ports of a Redis node's clients and of its fellow nodes lie 10,000 apart."""


class StoreNotStarted(DoveError):
    """A node ended before it was ready; the text ends with its log."""


class _Choice(NamedTuple):
    """An option of one kind; its name is that of the kind's argument."""

    name: str
    metavar: str
    help: str
    type: Any = str
    default: object = None


class _Kind(NamedTuple):
    name: str
    summary: str
    choices: tuple[_Choice, ...] = ()


def _directory(text: str) -> Path:
    check_directory(Path(text))
    return Path(text)


def _nodes(text: str) -> int:
    if count(text) > NODES_MAX:
        raise argparse.ArgumentTypeError(f"{text} is more than {NODES_MAX}")
    return count(text)


def _port(text: str) -> int:
    if count(text) > _PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text} is more than {_PORT_MAX}")
    return count(text)


def _sync(text: str) -> str:
    if text not in ("always", "everysec", "no"):
        raise argparse.ArgumentTypeError(f"{text!r} is none of always, everysec, no")
    return text


KINDS: Final = (
    _Kind(
        "cassandra",
        "a Cassandra cluster on this machine",
        (
            _Choice("nodes", "N", "number of nodes, 1 to 3 (default: 3, or those of DIR)", _nodes),
            _Choice(
                "jars",
                "DIR",
                "directory of fetched jars (default: $XDG_CACHE_HOME/dovemq/jars)",
                Path,
            ),
        ),
    ),
    _Kind(
        "redis",
        "a Redis Cluster of three masters and three replicas on this machine",
        (
            _Choice("appendfsync", "WHEN", "sync to disk: always, everysec, no", _sync, "everysec"),
            _Choice("maxmemory", "SIZE", "memory of a node, such as 64mb (default: no limit)"),
        ),
    ),
    _Kind("postgres", "a PostgreSQL server on this machine"),
)


def add(kinds: Commands) -> None:
    for kind in KINDS:
        example = f"dovemq dev {kind.name} up --data ./{kind.name} --detach"
        actions = add_group(kinds, kind.name, kind.summary, example)
        _add_up(actions, kind, example)
        summary = "print the URL of the store for `dovemq serve --store`"
        _add_action(actions, kind, "url", _url, summary)
        _add_action(actions, kind, "down", _down, "end the nodes; their data stays in DIR")


def _add_up(actions: Commands, kind: _Kind, example: str) -> None:
    summary = f"run {kind.summary} until Ctrl-C or SIGTERM; every user of it can connect"
    parser = add_command(actions, "up", _up, summary, example)
    _add_data(parser, kind)
    parser.option("--port", "N", "first port (default: free ports, which DIR keeps)", _port)
    parser.switch("--detach", "return when the store is ready, and leave it running")
    for choice in kind.choices:
        parser.option(f"--{choice.name}", *choice[1:])
    parser.set_defaults(choices=[choice.name for choice in kind.choices])


def _add_action(actions: Commands, kind: _Kind, name: str, run: Any, summary: str) -> None:
    example = f"dovemq dev {kind.name} {name} --data ./{kind.name}"
    _add_data(add_command(actions, name, run, summary, example), kind)


def _add_data(parser: CommandParser, kind: _Kind) -> None:
    parser.option("--data", "DIR", "directory of the nodes", _directory, required=True)
    parser.set_defaults(kind=kind.name)


def _up(args: argparse.Namespace) -> int:
    with _explained():
        cluster = _cluster(args)
        if args.detach:
            with ended_by_signals():
                cluster.start()
                _announce(args, cluster)
            return OK
        try:
            with ended_by_signals(), cluster:
                _announce(args, cluster)
                cluster.wait()
        except KeyboardInterrupt:
            return OK
    return _ended(args.data)


def _ended(data: Path) -> int:
    """Tells nodes that `down` has ended from nodes that failed."""
    from dovemq.testing.cluster_record import read_record

    record = read_record(data)
    if record is not None and not record.processes:
        return OK
    print(f"dovemq: all nodes have ended; their logs are in {data}", file=sys.stderr)
    return FAILED


def _cluster(args: argparse.Namespace) -> "LocalCluster":
    from dovemq.testing.local_stores import LOCAL_STORES

    more = {name: getattr(args, name) for name in args.choices}
    cluster = LOCAL_STORES[args.kind](args.data, port=args.port, **more)
    cluster.report = lambda line: print(f"{args.kind}: {line}", file=sys.stderr, flush=True)
    return cluster


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Reports what is not installed as wrong use, and a node that did not start by its log."""
    from dovemq.testing.daemons import DaemonFailed
    from dovemq.testing.local_cluster import ServerMissing
    from dovemq.testing.maven_jars import JarsMissing

    try:
        yield
    except (JarsMissing, ServerMissing) as error:
        raise WrongUse(str(error)) from None
    except DaemonFailed as error:
        raise StoreNotStarted(str(error)) from None


def _announce(args: argparse.Namespace, cluster: "LocalCluster") -> None:
    document = {"url": cluster.url, "directory": str(cluster.directory), "pids": cluster.pids}
    lines = pair_lines([("url", cluster.url), ("directory", cluster.directory)])
    hints = [f"to use it:  dovemq serve --store '{cluster.url}'"]
    if args.detach:
        hints.append(f"to end it:  dovemq dev {args.kind} down --data {args.data}")
    print_result(args, document, "\n".join([*lines, *hints]))
    sys.stdout.flush()


def _url(args: argparse.Namespace) -> int:
    from dovemq.testing.cluster_record import ClusterUnfit

    record = _record(args)
    if not (record.running and record.ready):
        found = f"has no {args.kind} that is ready"
        remedy = f"start it by dovemq dev {args.kind} up --data {args.data}"
        raise ClusterUnfit(args.data, found, remedy)
    return print_result(args, {"url": record.url}, record.url)


def _down(args: argparse.Namespace) -> int:
    from dovemq.testing.cluster_record import end_cluster

    _record(args)
    ended = end_cluster(args.data)
    text = "ended" if ended else "not running"
    return print_result(args, {"ended": ended}, f"{args.kind} in {args.data}: {text}")


def _record(args: argparse.Namespace) -> "ClusterRecord":
    from dovemq.testing.cluster_record import ClusterUnfit, read_record

    record = read_record(args.data)
    if record is None or record.kind != args.kind:
        found = f"holds {record.kind}, not {args.kind}" if record else f"holds no {args.kind}"
        raise ClusterUnfit(args.data, found, "name the directory that `up` was given")
    return record
