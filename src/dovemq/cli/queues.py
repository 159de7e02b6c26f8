"""`dovemq queue …`: the queues of a server and what their owner does with them."""

import argparse
import sys
from typing import Any, Final

from dovemq.cli.command import (
    FAILED,
    CommandParser,
    Commands,
    WrongUse,
    add_group,
    add_queue,
    add_server_command,
)
from dovemq.cli.explanations import add_explain
from dovemq.cli.moves import add_moves
from dovemq.cli.output import Columns, print_pairs, print_records, print_result, time_text
from dovemq.cli.target import ask_admin, ask_sqs
from dovemq.cli.values import pair
from dovemq.client import SqsClient
from dovemq.core import limits
from dovemq.core.queue import AUTO

_ALL: Final = ("All", "AllExtended")
_TIMES: Final = frozenset({"CreatedTimestamp", "LastModifiedTimestamp"})
"""Attributes in seconds since 1970, which people see as dates."""

Document = dict[str, Any]


def add(commands: Commands) -> None:
    summary = "list, create, change and delete queues"
    actions = add_group(commands, "queue", summary, "dovemq queue create jobs")
    _add_list_and_create(actions)
    _add_show_and_changes(actions)
    add_explain(actions)
    _add_removals(actions)
    add_moves(actions)


def _add_list_and_create(actions: Commands) -> None:
    example = "dovemq queue list --prefix jobs"
    parser = add_server_command(actions, "list", _list, "list queues with their counts", example)
    parser.option("--prefix", "TEXT", "start of the names to list", default="")
    summary = "create a queue; a name that ends in .fifo makes a FIFO queue"
    example = "dovemq queue create jobs VisibilityTimeout=60"
    parser = add_server_command(actions, "create", _create, summary, example)
    parser.add_argument("name", metavar="NAME", help="name of the new queue")
    _add_attributes(parser, "*")
    parser.repeated("--tag", "KEY=VALUE", "tag of the queue", pair)


def _add_show_and_changes(actions: Commands) -> None:
    for name, run, summary, more in (
        ("show", _show, "show attributes, tags and counts", ""),
        ("set", _set, "change attributes", " DelaySeconds=5"),
        ("tag", _tag, "add and remove tags", " team=a --remove old"),
    ):
        example = f"dovemq queue {name} jobs{more}"
        parser = add_server_command(actions, name, run, summary, example)
        add_queue(parser)
        if name == "set":
            _add_attributes(parser, "+")
        if name == "tag":
            parser.add_argument("tags", nargs="*", type=pair, metavar="KEY=VALUE", help="new tag")
            parser.repeated("--remove", "KEY", "key of a tag to remove")


def _add_attributes(parser: CommandParser, nargs: str) -> None:
    text = "queue attribute, such as VisibilityTimeout=60"
    parser.add_argument("attributes", nargs=nargs, type=pair, metavar="ATTRIBUTE=VALUE", help=text)


def _add_removals(actions: Commands) -> None:
    for name, run, summary in (
        ("purge", _purge, "delete all messages of a queue"),
        ("delete", _delete, "delete a queue with all its messages"),
    ):
        parser = add_server_command(actions, name, run, summary, f"dovemq queue {name} jobs --yes")
        add_queue(parser)
        parser.switch("--yes", "do not ask; required where there is no terminal")


def _list(args: argparse.Namespace) -> int:
    queues = ask_admin(args, lambda client: client.queues(args.prefix))
    several = len({each["account"] for each in queues}) > 1
    columns: Columns = {
        "QUEUE": lambda each: f"{each['account']}/{each['name']}" if several else each["name"],
        "VISIBLE": lambda each: each["counts"]["visible"],
        "LEASED": lambda each: each["counts"]["leased"],
        "DELAYED": lambda each: each["counts"]["delayed"],
    }
    return print_result(args, {"queues": queues}, lambda: print_records(queues, columns))


def _create(args: argparse.Namespace) -> int:
    attributes = dict(args.attributes)
    if args.name.endswith(limits.FIFO_SUFFIX):
        attributes.setdefault("FifoQueue", "true")
    tags = dict(args.tag)
    url = ask_sqs(args, lambda client: client.create_queue(args.name, attributes, tags))
    return print_result(args, {"QueueUrl": url}, url)


def _show(args: argparse.Namespace) -> int:
    async def show(client: SqsClient) -> Document:
        url = await client.queue_url(args.queue)
        attributes = await client.attributes(url, _ALL)
        return {"QueueUrl": url, "Attributes": attributes, "Tags": await client.tags(url)}

    shown = ask_sqs(args, show)
    if shown["Attributes"].get("Partitions", "1") != "1":
        account, name = shown["QueueUrl"].split("/")[-2:]
        queue = ask_admin(args, lambda client: client.queue(account, name))
        shown["Dequeue"] = queue["dequeue"]
    return print_result(args, shown, lambda: _print_queue(shown))


def _print_queue(shown: Document) -> None:
    attributes = (
        (name, _attribute(name, value, shown))
        for name, value in sorted(shown["Attributes"].items())
    )
    tags = ((f"tag {key}", value) for key, value in sorted(shown["Tags"].items()))
    figures = (
        (f"dequeue {name.replace('_', ' ')}", _figure(value))
        for name, value in shown.get("Dequeue", {}).items()
    )
    print_pairs([("QueueUrl", shown["QueueUrl"]), *attributes, *tags, *figures])


def _attribute(name: str, value: str, shown: Document) -> str:
    if name == "Partitions" and value == AUTO:
        return f"{value} ({len(shown['Dequeue']['partitions']['active'])} at present)"
    return time_text(int(value) * limits.SECOND_MS) if name in _TIMES else value


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_figure(each)}" for name, each in value.items())
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _set(args: argparse.Namespace) -> int:
    attributes = dict(args.attributes)
    ask_sqs(args, lambda client: client.set_attributes(args.queue, attributes))
    return print_result(args, {"changed": args.queue}, f"{args.queue} changed")


def _tag(args: argparse.Namespace) -> int:
    if not args.tags and not args.remove:
        raise WrongUse("give KEY=VALUE or --remove KEY")

    async def change(client: SqsClient) -> None:
        if args.tags:
            await client.tag(args.queue, dict(args.tags))
        if args.remove:
            await client.untag(args.queue, args.remove)

    ask_sqs(args, change)
    return print_result(args, {"changed": args.queue}, f"{args.queue} changed")


def _purge(args: argparse.Namespace) -> int:
    if not _confirmed(args, f"delete all messages of {args.queue}"):
        return FAILED
    ask_sqs(args, lambda client: client.purge(args.queue))
    return print_result(args, {"purged": args.queue}, f"{args.queue} purged")


def _delete(args: argparse.Namespace) -> int:
    if not _confirmed(args, f"delete the queue {args.queue} with all its messages"):
        return FAILED
    ask_sqs(args, lambda client: client.delete_queue(args.queue))
    return print_result(args, {"deleted": args.queue}, f"{args.queue} deleted")


def _confirmed(args: argparse.Namespace, deed: str) -> bool:
    """Ask on a terminal. Elsewhere nobody could answer, so a script must say --yes."""
    if args.yes:
        return True
    if not sys.stdin.isatty():
        raise WrongUse(f"give --yes to {deed}: there is no terminal to ask on")
    print(f"{deed}? [y/N] ", end="", file=sys.stderr, flush=True)
    agreed = sys.stdin.readline().strip().lower() in ("y", "yes")
    if not agreed:
        print("nothing was deleted", file=sys.stderr)
    return agreed
