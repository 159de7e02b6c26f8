"""`dovemq send`, `receive` and `peek`."""

import argparse
import asyncio
import base64
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from dovemq.cli.command import (
    FAILED,
    OK,
    Commands,
    WrongUse,
    add_command,
    add_target,
    count,
    number,
    pair,
)
from dovemq.cli.output import Progress, print_json, print_table
from dovemq.cli.target import ask_admin, ask_sqs, find_target
from dovemq.core import limits
from dovemq.sqs.shapes import AttributeValue, ReceivedMessage, SendEntry, SendMessageRequest

_BODY_SHOWN: Final = 60
_BATCH: Final = limits.BATCH_COUNT.most


def add(commands: Commands) -> None:
    _add_send(commands)
    _add_receive(commands)
    _add_peek(commands)


def _add_send(commands: Commands) -> None:
    parser = add_command(
        commands, "send", _send, "send a message", 'dovemq send jobs "hello" --delay 10'
    )
    parser.add_argument("queue", help="name or URL of the queue")
    parser.add_argument("body", nargs="?", help="the message; left out: all of standard input")
    parser.add_argument("--lines", action="store_true", help="each line of input is a message")
    parser.add_argument("--delay", type=number, metavar="SECONDS", help="hidden for so long")
    parser.add_argument("--group", metavar="ID", help="message group")
    parser.add_argument("--deduplication-id", metavar="ID", help="FIFO: sent once per id")
    parser.add_argument(
        "--attribute",
        type=pair,
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="message attribute of type String; may be repeated",
    )
    add_target(parser)


def _add_receive(commands: Commands) -> None:
    parser = add_command(
        commands,
        "receive",
        _receive,
        "receive messages; they come back when their lease ends unless deleted",
        "dovemq receive jobs --max 10 --wait 20 --delete",
    )
    parser.add_argument("queue", help="name or URL of the queue")
    parser.add_argument("--max", type=count, default=1, metavar="N", help="up to 10 messages")
    parser.add_argument("--wait", type=number, metavar="SECONDS", help="for the first one")
    parser.add_argument("--lease", type=number, metavar="SECONDS", help="hidden for so long")
    parser.add_argument("--delete", action="store_true", help="delete them once printed")
    add_target(parser)


def _add_peek(commands: Commands) -> None:
    parser = add_command(
        commands, "peek", _peek, "look at messages without receiving them", "dovemq peek jobs"
    )
    parser.add_argument("queue", help="name or URL of the queue")
    parser.add_argument("--max", type=count, default=10, metavar="N", help="up to 1000 messages")
    parser.add_argument("--after", type=number, default=0, metavar="SEQUENCE", help="go on after")
    add_target(parser)


def _send(args: argparse.Namespace) -> int:
    if args.lines and args.body is not None:
        raise WrongUse("--lines reads standard input; leave the body out")
    if args.lines and args.deduplication_id is not None:
        raise WrongUse("--lines sends many messages; they cannot share a --deduplication-id")
    return asyncio.run(_send_lines(args)) if args.lines else _send_one(args)


def _send_one(args: argparse.Namespace) -> int:
    message = SendMessageRequest(
        message_body=sys.stdin.read() if args.body is None else args.body,
        delay_seconds=args.delay,
        message_attributes=_attributes(args.attribute) or None,
        message_deduplication_id=args.deduplication_id,
        message_group_id=args.group,
    )
    sent = ask_sqs(args, lambda client: client.send(args.queue, message))
    if args.json:
        print_json(sent)
    else:
        print(sent.message_id)
    return OK


async def _send_lines(args: argparse.Namespace) -> int:
    sent = failed = 0
    async with find_target(args).sqs() as client, Progress(lambda: f"{sent} messages sent"):
        for bodies in _batches(line.rstrip("\n") for line in sys.stdin):
            answer = await client.send_batch(args.queue, _entries(args, bodies))
            sent += len(answer.successful)
            failed += len(answer.failed)
            for entry in answer.failed:
                body = bodies[int(entry.id)][:_BODY_SHOWN]
                print(f"dovemq: {body!r}: {entry.message}", file=sys.stderr)
    if args.json:
        print_json({"sent": sent, "failed": failed})
    else:
        print(f"{sent} sent, {failed} failed")
    return FAILED if failed else OK


def _entries(args: argparse.Namespace, bodies: Sequence[str]) -> list[SendEntry]:
    attributes = _attributes(args.attribute) or None
    return [
        SendEntry(
            id=str(place),
            message_body=body,
            delay_seconds=args.delay,
            message_attributes=attributes,
            message_group_id=args.group,
        )
        for place, body in enumerate(bodies)
    ]


def _batches(lines: Iterable[str]) -> Iterator[Sequence[str]]:
    """At most ten, and never more bytes than a batch may have."""
    lines = iter(lines)
    while batch := list(islice(lines, _BATCH)):
        if sum(len(line.encode()) for line in batch) <= limits.BATCH_BYTES_MAX:
            yield batch
        else:
            yield from ([line] for line in batch)


def _attributes(pairs: Sequence[tuple[str, str]]) -> dict[str, AttributeValue]:
    return {name: AttributeValue("String", text) for name, text in pairs}


def _receive(args: argparse.Namespace) -> int:
    messages = ask_sqs(
        args,
        lambda client: client.receive(
            args.queue, args.max, wait_seconds=args.wait, lease_seconds=args.lease
        ),
    )
    if args.json:
        print_json({"Messages": messages})
    else:
        _print_received(messages)
    # Printed first: a message must not be gone before somebody could see it.
    sys.stdout.flush()
    return _delete(args, messages) if args.delete and messages else OK


def _print_received(messages: Sequence[ReceivedMessage]) -> None:
    for message in messages:
        print(f"id {message.message_id}")
        print(f"receipt {message.receipt_handle}")
        for name, text in sorted(message.attributes.items()):
            print(f"{name} {text}")
        for name, value in sorted(message.message_attributes.items()):
            print(f"attribute {name} {_value_text(value)}")
        print(f"\n{message.body}\n")


def _value_text(value: AttributeValue) -> str:
    if value.binary_value is not None:
        return base64.b64encode(value.binary_value).decode()
    return value.string_value or ""


def _delete(args: argparse.Namespace, messages: Sequence[ReceivedMessage]) -> int:
    receipts = [each.receipt_handle for each in messages]
    answer = ask_sqs(args, lambda client: client.settle_batch(args.queue, receipts))
    for entry in answer.failed:
        print(f"dovemq: not deleted: {entry.message}", file=sys.stderr)
    return FAILED if answer.failed else OK


def _peek(args: argparse.Namespace) -> int:
    url = args.queue
    if "/" not in url:
        url = ask_sqs(args, lambda client: client.queue_url(args.queue))
    parts = url.rstrip("/").split("/")
    if len(parts) < 2:
        raise WrongUse(f"{url!r} is neither the name nor the URL of a queue")
    account, name = parts[-2:]
    page = ask_admin(args, lambda client: client.messages(account, name, args.max, args.after))
    if args.json:
        print_json(page)
        return OK
    print_table(
        ("SEQUENCE", "ID", "STATE", "RECEIVES", "BODY"),
        [
            (
                each["sequence"],
                each["message_id"],
                each["visibility"],
                each["receive_count"],
                _short(each["body"]),
            )
            for each in page["messages"]
        ],
    )
    return OK


def _short(body: str) -> str:
    line = " ".join(body.split())
    return line if len(line) <= _BODY_SHOWN else line[: _BODY_SHOWN - 1] + "…"
