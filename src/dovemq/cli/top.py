"""`dovemq top`: the overview and one queue, live in a terminal or as snapshots."""

import argparse
import asyncio
import importlib.util
import os
import signal
import sys
from typing import Final

from dovemq.cli.command import OK, Commands, Interrupted, WrongUse, add_server_command
from dovemq.cli.output import Progress, json_text
from dovemq.cli.target import Target, find_target
from dovemq.cli.values import count, queue
from dovemq.core.queue import QueueKey
from dovemq.system.extras import extra_missing
from dovemq.terminal.asking import INTERVAL_SECONDS, SORTS, Asking, Listing
from dovemq.terminal.pictures import Document, overview_picture, queue_picture
from dovemq.terminal.printing import overview_page, queue_page

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


def add(commands: Commands) -> None:
    summary = "show queues live in the terminal; off a terminal, print a snapshot"
    parser = add_server_command(commands, "top", _run, summary, "dovemq top --sort visible")
    text = "queue to begin with: NAME, ACCOUNT/NAME or URL"
    parser.add_argument("queue", nargs="?", type=queue, metavar="QUEUE", help=text)
    parser.option("--filter", "TEXT", "part of ACCOUNT/NAME of the queues to list", default="")
    parser.choice("--sort", SORTS, "column to sort by; numbers fall", SORTS[0])
    parser.option("--count", "N", "print N snapshots, one a second, and end", count)


def _run(args: argparse.Namespace) -> int:
    if args.json or args.count or not _fits():
        return asyncio.run(_print(args))
    if importlib.util.find_spec("textual") is None:
        raise WrongUse(
            f"textual is not installed; {extra_missing('top')}; --count 1 prints a snapshot"
        )
    if number := asyncio.run(_show(args)):
        raise Interrupted(number)
    return OK


def _fits() -> bool:
    """Whether all streams are a terminal whose cursor can be moved. The screen is on stderr."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(each.isatty() for each in streams) and os.environ.get("TERM", "dumb") != "dumb"


async def _print(args: argparse.Namespace) -> int:
    target = find_target(args)
    async with target.admin() as client, Progress(lambda: "waiting for the server"):
        key, asking = await _key(args, target), Asking(client)
        for number in range(args.count or 1):
            if number:
                await asyncio.sleep(INTERVAL_SECONDS)
            found = await _first(asking, _listing(args), key)
            print(json_text(found) if args.json else _text(found, key), flush=True)
    return OK


async def _show(args: argparse.Namespace) -> int | None:
    """Open the screen, once the server has answered. The result is the signal that ended it."""
    from dovemq.terminal.app import TopApp

    target, listing = find_target(args), _listing(args)
    async with target.admin() as client:
        async with Progress(lambda: "waiting for the server"):
            key = await _key(args, target)
            await _first(Asking(client), listing, key)
        app = TopApp(client, target.admin_url or "", listing, key)
        loop = asyncio.get_running_loop()
        for each in _SIGNALS:
            loop.add_signal_handler(each, app.exit, each)
        try:
            return await app.run_async()
        finally:
            for each in _SIGNALS:
                loop.remove_signal_handler(each)


def _listing(args: argparse.Namespace) -> Listing:
    return Listing(args.filter, args.sort, falling=args.sort != SORTS[0])


async def _key(args: argparse.Namespace, target: Target) -> QueueKey | None:
    """The queue of the command line, which SQS knows by its name alone."""
    if args.queue is None:
        return None
    async with target.sqs() as client:
        account, name = (await client.queue_url(args.queue)).split("/")[-2:]
    return QueueKey(account, name)


async def _first(asking: Asking, listing: Listing, key: QueueKey | None) -> Document:
    return await (asking.overview(listing) if key is None else asking.queue(key))


def _text(found: Document, key: QueueKey | None) -> str:
    if key is None:
        return overview_page(overview_picture(found))
    return queue_page(queue_picture(found))
