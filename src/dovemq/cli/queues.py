"""`dovemq queue …`: the queues of a server and what their owner does with them."""

import argparse
from typing import Any, Final

from dovemq.cli.command import (
    OK,
    Commands,
    WrongUse,
    add_command,
    add_group,
    add_target,
    pair,
)
from dovemq.cli.moves import add_moves
from dovemq.cli.output import print_json, print_pairs, print_table
from dovemq.cli.target import ask_admin, ask_sqs
from dovemq.client import SqsClient
from dovemq.core import limits

_ALL: Final = ("All", "AllExtended")
_STATES: Final = ("visible", "leased", "delayed")


def add(commands: Commands) -> None:
    parser = add_group(
        commands, "queue", "list, create, change and delete queues", "dovemq queue create jobs"
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    _add_list(actions)
    _add_create(actions)
    _add_named(actions)
    _add_changes(actions)
    add_moves(actions)


def _add_list(actions: Commands) -> None:
    parser = add_command(
        actions, "list", _list, "all queues with their counts", "dovemq queue list --prefix jobs"
    )
    parser.add_argument("--prefix", default="", help="only names that start so")
    add_target(parser)


def _add_create(actions: Commands) -> None:
    parser = add_command(
        actions,
        "create",
        _create,
        "create a queue; a name that ends in .fifo makes a FIFO queue",
        "dovemq queue create jobs VisibilityTimeout=60",
    )
    parser.add_argument("name")
    parser.add_argument("attributes", nargs="*", type=pair, metavar="ATTRIBUTE=VALUE")
    parser.add_argument(
        "--tag", type=pair, action="append", default=[], metavar="KEY=VALUE", help="may be repeated"
    )
    add_target(parser)


def _add_named(actions: Commands) -> None:
    for name, run, summary in (
        ("show", _show, "attributes, tags and counts of a queue"),
        ("purge", _purge, "delete all messages of a queue"),
        ("delete", _delete, "delete a queue with all its messages"),
    ):
        parser = add_command(actions, name, run, summary, f"dovemq queue {name} jobs")
        parser.add_argument("name")
        add_target(parser)


def _add_changes(actions: Commands) -> None:
    parser = add_command(
        actions, "set", _set, "change attributes", "dovemq queue set jobs DelaySeconds=5"
    )
    parser.add_argument("name")
    parser.add_argument("attributes", nargs="+", type=pair, metavar="ATTRIBUTE=VALUE")
    add_target(parser)
    parser = add_command(
        actions, "tag", _tag, "add and remove tags", "dovemq queue tag jobs team=a --remove old"
    )
    parser.add_argument("name")
    parser.add_argument("tags", nargs="*", type=pair, metavar="KEY=VALUE")
    parser.add_argument(
        "--remove", action="append", default=[], metavar="KEY", help="may be repeated"
    )
    add_target(parser)


def _list(args: argparse.Namespace) -> int:
    queues = ask_admin(args, lambda client: client.queues(args.prefix))
    if args.json:
        print_json({"queues": queues})
    else:
        several = len({each["account"] for each in queues}) > 1
        named = [
            (f"{each['account']}/{each['name']}" if several else each["name"], each)
            for each in queues
        ]
        print_table(
            ("QUEUE", "VISIBLE", "LEASED", "DELAYED"),
            [(name, *(each["counts"][state] for state in _STATES)) for name, each in named],
        )
    return OK


def _create(args: argparse.Namespace) -> int:
    attributes = dict(args.attributes)
    if args.name.endswith(limits.FIFO_SUFFIX):
        attributes.setdefault("FifoQueue", "true")
    tags = dict(args.tag)
    url = ask_sqs(args, lambda client: client.create_queue(args.name, attributes, tags))
    return _say(args, url, {"QueueUrl": url})


def _show(args: argparse.Namespace) -> int:
    async def show(client: SqsClient) -> dict[str, Any]:
        url = await client.queue_url(args.name)
        attributes = await client.attributes(url, _ALL)
        return {"QueueUrl": url, "Attributes": attributes, "Tags": await client.tags(url)}

    shown = ask_sqs(args, show)
    if args.json:
        print_json(shown)
        return OK
    tags = sorted(shown["Tags"].items())
    print_pairs(
        [
            ("QueueUrl", shown["QueueUrl"]),
            *sorted(shown["Attributes"].items()),
            *((f"tag {key}", value) for key, value in tags),
        ]
    )
    return OK


def _set(args: argparse.Namespace) -> int:
    attributes = dict(args.attributes)
    ask_sqs(args, lambda client: client.set_attributes(args.name, attributes))
    return _say(args, f"{args.name} changed", {"changed": args.name})


def _tag(args: argparse.Namespace) -> int:
    if not args.tags and not args.remove:
        raise WrongUse("give KEY=VALUE or --remove KEY")

    async def change(client: SqsClient) -> None:
        if args.tags:
            await client.tag(args.name, dict(args.tags))
        if args.remove:
            await client.untag(args.name, args.remove)

    ask_sqs(args, change)
    return _say(args, f"{args.name} changed", {"changed": args.name})


def _purge(args: argparse.Namespace) -> int:
    ask_sqs(args, lambda client: client.purge(args.name))
    return _say(args, f"{args.name} purged", {"purged": args.name})


def _delete(args: argparse.Namespace) -> int:
    ask_sqs(args, lambda client: client.delete_queue(args.name))
    return _say(args, f"{args.name} deleted", {"deleted": args.name})


def _say(args: argparse.Namespace, text: str, value: dict[str, str]) -> int:
    if args.json:
        print_json(value)
    else:
        print(text)
    return OK
