"""`dovemq bridge mqtt`: messages of an MQTT broker into queues."""

import argparse
import asyncio
import importlib.util
import itertools
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from msgspec.structs import asdict, replace

from dovemq.bridge.errors import BridgeError, BridgePlanInvalid
from dovemq.bridge.plan import (
    PROTOCOLS,
    BridgeFile,
    BridgePlan,
    BrokerAddress,
    BrokerLogin,
    BrokerTrust,
    RouteEntry,
    read_bridge_file,
)
from dovemq.bridge.queues import found_queues
from dovemq.bridge.routes import RouteTable
from dovemq.bridge.run import Bridge
from dovemq.bridge.topics import TopicFilter
from dovemq.cli.command import (
    CommandParser,
    Commands,
    WrongUse,
    add_command,
    add_group,
    add_target,
    read_text,
)
from dovemq.cli.output import Progress, print_result
from dovemq.cli.target import find_target
from dovemq.cli.values import count, duration_ms, existing_file, queue
from dovemq.configuration import read_toml
from dovemq.core import limits
from dovemq.core.errors import DoveError
from dovemq.server.run import until_stopped
from dovemq.system.extras import extra_missing

USER_VARIABLE: Final = "MQTT_USER"
PASSWORD_VARIABLE: Final = "MQTT_PASSWORD"
_DEFAULTS: Final = BridgeFile()
_EXAMPLE: Final = (
    "dovemq bridge mqtt --broker mqtt://127.0.0.1 --route 'sensors/+/temperature=readings'"
)

T = TypeVar("T")


class BridgeFailed(DoveError):
    """The bridge ended by itself after it had received messages."""


def add(commands: Commands) -> None:
    summary = "carry messages of other messaging systems into queues"
    systems = add_group(commands, "bridge", summary, _EXAMPLE, "SYSTEM")
    summary = "store messages of an MQTT broker in queues, until Ctrl-C or SIGTERM"
    parser = add_command(systems, "mqtt", _run, summary, _EXAMPLE)
    text = "TOML file of the bridge; options win over it"
    parser.add_argument("file", nargs="?", type=existing_file, metavar="FILE", help=text)
    _add_routes(parser)
    _add_broker(parser)
    add_target(parser)


def _add_routes(parser: CommandParser) -> None:
    group = parser.group("routes")
    group.repeated("--route", "FILTER=QUEUE", "topic filter and queue, in quotes", _route)
    group.switch("--create", "create queues that do not exist")
    text = "queue for messages that the queue of their route refuses (default: discard them)"
    group.option("--refused-queue", "QUEUE", text, queue)
    text = "FIFO: level of the topic that is the group, counted from 1 (default: whole topic)"
    group.option("--group-level", "N", text, count)
    text = "FIFO: drop messages of equal topic and payload within five minutes"
    group.switch("--deduplicate", text)


def _add_broker(parser: CommandParser) -> None:
    text = f"User and password come from {USER_VARIABLE} and {PASSWORD_VARIABLE}, or from --login."
    group = parser.group("broker", text)
    add = group.option
    add("--broker", "URL", "mqtt://HOST[:PORT], or mqtts:// for TLS")
    group.choice("--protocol", PROTOCOLS, f"version of MQTT (default: {_DEFAULTS.protocol})")
    text = f"name of the bridge and its session at the broker (default: {_DEFAULTS.client_id})"
    add("--client-id", "NAME", text)
    text = "time for which the broker keeps messages while the bridge is away"
    add("--session", "TIME", f"{text} (default: {_DEFAULTS.session})")
    text = "topic filter of a route that was removed, whose subscription ends"
    group.repeated("--unsubscribe", "FILTER", text)
    group.switch("--clean-start", "discard the session and its messages, and begin a new one")
    text = f"most messages without an acknowledgement (default: {_DEFAULTS.in_flight})"
    add("--in-flight", "N", text, count)
    add("--login", "FILE", "file with USER:PASSWORD in its first line")
    add("--broker-ca", "FILE", "trusted certificates (default: those of the system)")
    add("--broker-certificate", "FILE", "certificate of the bridge")
    add("--broker-key", "FILE", "private key of the certificate")


def _route(text: str) -> RouteEntry:
    topic_filter, sign, name = text.rpartition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not FILTER=QUEUE")
    return RouteEntry(topic_filter, queue(name))


def _run(args: argparse.Namespace) -> int:
    if importlib.util.find_spec("paho") is None:
        raise WrongUse(f"paho-mqtt is not installed; {extra_missing('mqtt')}")
    try:
        plan = _plan(args)
        bridge = asyncio.run(_bridged(args, plan))
    except BridgePlanInvalid as error:
        raise WrongUse(str(error)) from None
    return print_result(args, bridge.counts, _line(bridge))


async def _bridged(args: argparse.Namespace, plan: BridgePlan) -> Bridge:
    from dovemq.bridge.broker import BrokerConnection, trusting

    trusting(plan)
    run, numbers = secrets.token_hex(8), itertools.count()
    async with find_target(args).sqs() as client:
        bridge = Bridge(
            plan,
            await found_queues(client, plan.queues, create=plan.create),
            new_link=lambda arrived, clean: BrokerConnection(plan, arrived, clean=clean),
            send=client.send_batch,
            report=_report,
            new_id=lambda: f"{run}-{next(numbers)}",
        )
        try:
            async with Progress(lambda: _line(bridge)):
                await bridge.run(until_stopped())
        except BridgeError as error:
            if not bridge.counts.received:
                raise
            raise BridgeFailed(f"{_line(bridge)}, then: {error}") from None
    return bridge


def _plan(args: argparse.Namespace) -> BridgePlan:
    given = _given(args)
    if not given.broker:
        raise WrongUse("give the address of the broker: --broker mqtt://HOST")
    level, once = given.group_level, given.deduplicate
    files = (given.broker_ca, given.broker_certificate, given.broker_key)
    return BridgePlan(
        BrokerAddress.parse(given.broker),
        RouteTable([each.route(level, deduplicate=once) for each in given.route]),
        given.client_id,
        given.protocol,
        given.in_flight,
        _checked(duration_ms, given.session) // limits.SECOND_MS,
        refused_queue=given.refused_queue,
        create=given.create,
        clean_start=args.clean_start,
        unsubscribe=[TopicFilter.parse(text).text for text in args.unsubscribe],
        login=_login(given.login),
        trust=BrokerTrust(*map(_file, files)),
    )


def _given(args: argparse.Namespace) -> BridgeFile:
    """The file, with the options of the command line in place of its own."""
    file = BridgeFile()
    if args.file is not None:
        file = read_bridge_file(args.file, read_toml(args.file, "name another file"))
    options = {name: getattr(args, name) for name in asdict(file)}
    return replace(file, **{name: value for name, value in options.items() if value})


def _checked(kind: Callable[[str], T], text: str) -> T:
    """The value of a text that may stand in a file, so that argparse has not checked it."""
    try:
        return kind(text)
    except argparse.ArgumentTypeError as error:
        raise WrongUse(str(error)) from None


def _file(name: str | None) -> Path | None:
    return _checked(existing_file, name) if name else None


def _login(file: str | None) -> BrokerLogin | None:
    if file is not None:
        user, _, password = read_text(Path(file)).partition("\n")[0].strip().partition(":")
        return BrokerLogin(user, password or None)
    user = os.environ.get(USER_VARIABLE, "")
    return BrokerLogin(user, os.environ.get(PASSWORD_VARIABLE)) if user else None


def _line(bridge: Bridge) -> str:
    counts = bridge.counts
    parts = [f"{counts.received} received", f"{counts.stored} stored"]
    for name in ("refused", "discarded", "unrouted", "dropped"):
        if number := getattr(counts, name):
            parts.append(f"{number} {name}")
    return ", ".join([*parts, f"{bridge.in_hand} in flight"])


def _report(text: str) -> None:
    print(f"dovemq: {text}", file=sys.stderr, flush=True)
