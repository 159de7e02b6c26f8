"""`dovemq send`, `receive`, `peek`, and for received messages `delete`, `extend`, `release`."""

import argparse
import asyncio
import base64
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_queue, add_server_command
from dovemq.cli.output import Columns, Progress, print_records, print_result, time_text
from dovemq.cli.target import ask_admin, ask_sqs, find_target
from dovemq.cli.values import count, number, pair
from dovemq.client import SqsClient
from dovemq.client.batching import batches
from dovemq.core import limits
from dovemq.sqs.shapes import (
    AttributeValue,
    BatchResponse,
    ReceivedMessage,
    SendEntry,
    SendMessageRequest,
)

_BODY_SHOWN: Final = 60
_BATCH: Final = limits.BATCH_COUNT.most
_TIMES: Final = frozenset({"SentTimestamp", "ApproximateFirstReceiveTimestamp"})
"""Attributes in milliseconds since 1970, which people see as dates."""

Change = Callable[[SqsClient, str, Sequence[str]], Awaitable[BatchResponse]]


def add(commands: Commands) -> None:
    summary = "send a message"
    parser = add_server_command(
        commands, "send", _send, summary, 'dovemq send jobs "hello" --delay 10'
    )
    add_queue(parser)
    parser.add_argument("body", nargs="?", help="message body (default: all of standard input)")
    parser.switch("--lines", "send each line of input as a message")
    parser.option("--delay", "SECONDS", "time before delivery", number)
    parser.option("--group", "ID", "message group")
    parser.option("--deduplication-id", "ID", "FIFO: id that marks repeated sends")
    parser.repeated("--attribute", "NAME=TEXT", "message attribute of type String", pair)
    summary = "receive messages; those that are not deleted are visible again when their lease ends"
    example = "dovemq receive jobs --max 10 --wait 20 --delete"
    parser = add_server_command(commands, "receive", _receive, summary, example)
    add_queue(parser)
    parser.option("--max", "N", "number of messages, at most 10", count, 1)
    parser.option("--wait", "SECONDS", "time to wait for the first message", number)
    parser.option("--lease", "SECONDS", "time for which the messages are hidden", number)
    parser.switch("--delete", "delete the messages after printing them")
    summary = "show messages without receiving them"
    parser = add_server_command(commands, "peek", _peek, summary, "dovemq peek jobs")
    add_queue(parser)
    parser.option("--max", "N", "number of messages, at most 1000", count, 10)
    text = "sequence of the last message shown, or SEQUENCE.PARTITION"
    parser.option("--after", "SEQUENCE", text, default="0")
    _add_changes(commands)


def _add_changes(commands: Commands) -> None:
    """Add the commands that take receipts, as `receive` prints them."""
    for name, run, summary, options in (
        ("delete", _delete, "delete received messages", ""),
        ("extend", _extend, "extend the leases of received messages", " --lease 60"),
        ("release", _release, "end the leases of received messages", ""),
    ):
        example = f"dovemq {name} jobs RECEIPT{options}"
        parser = add_server_command(commands, name, run, summary, example)
        add_queue(parser)
        text = "receipt that `dovemq receive` printed"
        parser.add_argument("receipt", nargs="+", metavar="RECEIPT", help=text)
        if options:
            text = "time from now for which the messages are hidden"
            parser.add_argument("--lease", type=count, required=True, metavar="SECONDS", help=text)


def _send(args: argparse.Namespace) -> int:
    if args.lines and args.body is not None:
        raise WrongUse("--lines reads standard input; leave the body out")
    if args.lines and args.deduplication_id is not None:
        raise WrongUse("--lines sends many messages; they cannot share a --deduplication-id")
    if args.body is None and sys.stdin.isatty():
        print("reading the message from standard input; Ctrl-D ends it", file=sys.stderr)
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
    return print_result(args, sent, sent.message_id)


async def _send_lines(args: argparse.Namespace) -> int:
    sent = failed = 0
    async with find_target(args).sqs() as client, Progress(lambda: f"{sent} messages sent"):
        lines = (line.rstrip("\n") for line in sys.stdin)
        for bodies in batches(lines, lambda line: len(line.encode())):
            answer = await client.send_batch(args.queue, _entries(args, bodies))
            sent += len(answer.successful)
            failed += len(answer.failed)
            for entry in answer.failed:
                body = bodies[int(entry.id)][:_BODY_SHOWN]
                print(f"dovemq: {body!r}: {entry.message}", file=sys.stderr)
    counts, text = {"sent": sent, "failed": failed}, f"{sent} sent, {failed} failed"
    return print_result(args, counts, text, FAILED if failed else OK)


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


def _attributes(pairs: Sequence[tuple[str, str]]) -> dict[str, AttributeValue]:
    return {name: AttributeValue("String", text) for name, text in pairs}


def _receive(args: argparse.Namespace) -> int:
    messages = ask_sqs(
        args,
        lambda client: client.receive(
            args.queue, args.max, wait_seconds=args.wait, lease_seconds=args.lease
        ),
    )
    print_result(args, {"Messages": messages}, lambda: _print_received(messages))
    if not messages:
        print("no message is visible now; --wait SECONDS waits for one", file=sys.stderr)
        return OK
    # Printed first: a message must not be deleted before its reader could see it.
    sys.stdout.flush()
    if not args.delete:
        return OK
    receipts = [each.receipt_handle for each in messages]
    return FAILED if _change(args, receipts, SqsClient.settle_batch) else OK


def _print_received(messages: Sequence[ReceivedMessage]) -> None:
    for message in messages:
        print(f"id {message.message_id}")
        print(f"receipt {message.receipt_handle}")
        for name, text in sorted(message.attributes.items()):
            print(f"{name} {time_text(int(text)) if name in _TIMES else text}")
        for name, value in sorted(message.message_attributes.items()):
            print(f"attribute {name} {_value_text(value)}")
        print(f"\n{message.body}\n")


def _value_text(value: AttributeValue) -> str:
    if value.binary_value is not None:
        return base64.b64encode(value.binary_value).decode()
    return value.string_value or ""


def _delete(args: argparse.Namespace) -> int:
    return _changed(args, "deleted", SqsClient.settle_batch)


def _extend(args: argparse.Namespace) -> int:
    return _changed(args, "extended", _lease_for(args.lease))


def _release(args: argparse.Namespace) -> int:
    return _changed(args, "released", _lease_for(0))


def _lease_for(seconds: int) -> Change:
    return lambda client, queue, receipts: client.extend_batch(queue, receipts, seconds)


def _changed(args: argparse.Namespace, done: str, change: Change) -> int:
    failures = _change(args, args.receipt, change)
    count_done = len(args.receipt) - len(failures)
    document, code = {done: count_done, "failed": failures}, FAILED if failures else OK
    return print_result(args, document, f"{count_done} {done}", code)


def _change(args: argparse.Namespace, receipts: Sequence[str], change: Change) -> list[str]:
    """The reasons for the receipts that the server refused; they are printed too."""

    async def ask(client: SqsClient) -> list[str]:
        answers = [
            await change(client, args.queue, receipts[start : start + _BATCH])
            for start in range(0, len(receipts), _BATCH)
        ]
        return [entry.message for answer in answers for entry in answer.failed]

    failures = ask_sqs(args, ask)
    for reason in failures:
        print(f"dovemq: {reason}", file=sys.stderr)
    return failures


def _peek(args: argparse.Namespace) -> int:
    url = ask_sqs(args, lambda client: client.queue_url(args.queue))
    account, name = url.split("/")[-2:]
    page = ask_admin(args, lambda client: client.messages(account, name, args.max, args.after))
    columns: Columns = {
        "SEQUENCE": "sequence",
        "ID": "message_id",
        "STATE": "visibility",
        "RECEIVES": "receive_count",
        "BODY": lambda each: _short(each["body"]),
    }
    if not page["messages"] and not args.json:
        print("the queue holds no message", file=sys.stderr)
    return print_result(args, page, lambda: print_records(page["messages"], columns))


def _short(body: str) -> str:
    line = " ".join(body.split())
    return line if len(line) <= _BODY_SHOWN else line[: _BODY_SHOWN - 1] + "…"
