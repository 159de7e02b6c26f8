"""`dovemq account key` and `rotate`, and the output of new secrets.

A secret is printed, or written to a file that only its owner can read. It is never an argument.
"""

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from dovemq.cli.command import OK, CommandParser, Commands, WrongUse, add_server_command
from dovemq.cli.env import exports
from dovemq.cli.output import Progress, json_text, pair_lines, time_text
from dovemq.cli.target import Target, find_target
from dovemq.cli.values import duration_ms
from dovemq.client import AdminClient
from dovemq.core.errors import DoveError

GRACE: Final = "24h"
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL

Document = dict[str, Any]
Make = Callable[[AdminClient], Awaitable[Document]]


class KeyNotKept(DoveError):
    """The key exists, and its secret could not be written."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"{path}: {found}; the secret of the new key is lost: remove the key that "
            "`dovemq account show` lists, and make another"
        )


def add_keys(actions: Commands) -> None:
    summary = "make an access key, whose secret is shown only once"
    example = "dovemq account key billing --expires 90d --env"
    parser = add_server_command(actions, "key", _key, summary, example)
    add_account_argument(parser)
    text = "lifetime, such as 90d or 12h (default: unlimited)"
    parser.option("--expires", "TIME", text, duration_ms)
    add_delivery(parser)
    summary = "make a new key in place of an old one, which stays valid for a while"
    example = "dovemq account rotate billing --grace 24h"
    parser = add_server_command(actions, "rotate", _rotate, summary, example)
    add_account_argument(parser)
    text = "key to replace, needed if there are several"
    parser.add_argument("key_id", nargs="?", metavar="KEY_ID", help=text)
    parser.option("--grace", "TIME", "time for which the old key stays valid", duration_ms, GRACE)
    add_delivery(parser)


def add_account_argument(parser: CommandParser) -> None:
    # The name `account` is taken by a setting.
    parser.add_argument("holder", metavar="ACCOUNT", help="number or name of the account")


def add_delivery(parser: CommandParser) -> None:
    """Add the options for the output of a new secret."""
    parser.switch("--env", "print export lines, as `dovemq env` does")
    parser.option("--output", "FILE", "new file for the key (mode 0600)", Path)


def make_key(args: argparse.Namespace, make: Make) -> int:
    """Make a key with `make`, and print it or write it to the chosen file."""
    asyncio.run(_made(args, make))
    return OK


async def _made(args: argparse.Namespace, make: Make) -> None:
    target = find_target(args)
    # The file is opened first: a secret that cannot be written must not be made.
    with _place(args.output) as stream:
        async with target.admin() as client, Progress(lambda: "waiting for the server"):
            made = await make(client)
        stream.write(_text(args, target, made) + "\n")
    if args.output is not None:
        print(f"{args.output}: access key {made['key_id']} of account {made['account']}")
    elif not args.json:
        print("this secret is not shown again", file=sys.stderr)


@contextlib.contextmanager
def _place(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    try:
        descriptor = os.open(path, _NEW_FILE, 0o600)
    except FileExistsError:
        raise WrongUse(f"{path} exists; name another file") from None
    except OSError as error:
        raise WrongUse(f"{path}: {error.strerror}; name another file") from None
    try:
        with open(descriptor, "w") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise KeyNotKept(path, error.strerror or str(error)) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _text(args: argparse.Namespace, target: Target, made: Document) -> str:
    if args.env:
        key_id, secret = made["key_id"], made["secret"]
        return exports(
            target.endpoint_url, key_id, secret, target.region, target.ca_bundle, args.json
        )
    if args.json:
        return json_text(made)
    return "\n".join(
        pair_lines(
            [
                ("account", made["account"]),
                ("key id", made["key_id"]),
                ("secret", made["secret"]),
                ("expires", time_text(made["expires_ms"])),
            ]
        )
    )


def _key(args: argparse.Namespace) -> int:
    return make_key(args, lambda client: client.add_credential(args.holder, args.expires))


def _rotate(args: argparse.Namespace) -> int:
    async def rotate(client: AdminClient) -> Document:
        key_id = args.key_id or await _only_key(client, args.holder)
        return await client.rotate_credential(args.holder, key_id, args.grace)

    return make_key(args, rotate)


async def _only_key(client: AdminClient, account: str) -> str:
    """The only key that is enabled and does not expire."""
    held = (await client.account(account))["credentials"]
    lasting = [each for each in held if each["enabled"] and each["expires_ms"] is None]
    if len(lasting) != 1:
        keys = ", ".join(each["key_id"] for each in held) or "none"
        raise WrongUse(f"give the KEY_ID to replace; account {account} has: {keys}")
    return str(lasting[0]["key_id"])
