"""`dovemq backup`, `verify` and `restore`."""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from dovemq.cli.command import (
    FAILED,
    OK,
    Commands,
    WrongUse,
    add_command,
    add_target,
    existing_file,
)
from dovemq.cli.output import Progress, print_json, size_text
from dovemq.cli.target import ask_admin, find_target, resolved_settings
from dovemq.client import AdminClient
from dovemq.core.errors import DoveError
from dovemq.system.private_files import new_private_file

if TYPE_CHECKING:
    from dovemq.stores.sqlite.verification import Verification


class BackupFailed(DoveError):
    """The copy could not be written on this machine."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"{path}: {found}; name a file in a directory with space")


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "backup",
        _backup,
        "copy the store of a running server into a file",
        "dovemq backup monday.dovemq",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="path of the new file")
    add_target(parser)
    parser = add_command(
        commands,
        "verify",
        _verify,
        "check every message of a running server; exit code 1 if one is damaged",
        "dovemq verify",
    )
    add_target(parser)
    parser = add_command(
        commands,
        "restore",
        _restore,
        "fill an empty data directory from a backup, while no server runs on it",
        "dovemq restore monday.dovemq --data ./data",
    )
    parser.add_argument("file", type=existing_file, metavar="FILE", help="path of the backup")
    parser.add_argument("--data", metavar="DIR", help="data directory, empty or missing")
    parser.add_argument("--config", metavar="FILE", help="settings file of the server")


def _backup(args: argparse.Namespace) -> int:
    if args.file.exists():
        raise WrongUse(f"{args.file} exists; name another file")
    size = asyncio.run(_fetch(args))
    if args.json:
        print_json({"file": str(args.file), "bytes": size})
    else:
        print(f"{args.file}: {size_text(size)}")
    return OK


async def _fetch(args: argparse.Namespace) -> int:
    """Write the copy and return its size. The file gets its name once it is whole, on the disk."""
    try:
        with new_private_file(args.file) as stream:
            async with find_target(args).admin() as client:
                return await _stream(client, stream)
    except OSError as error:
        raise BackupFailed(args.file, error.strerror or str(error)) from None


async def _stream(client: AdminClient, stream: BinaryIO) -> int:
    size = 0

    def take(piece: bytes) -> None:
        nonlocal size
        stream.write(piece)
        size += len(piece)

    async with Progress(lambda: f"{size_text(size)} received"):
        await client.backup(take)
    return size


def _verify(args: argparse.Namespace) -> int:
    report = ask_admin(args, lambda client: client.verify())
    findings = report["findings"]
    if args.json:
        print_json(report)
    else:
        for finding in findings:
            print(finding, file=sys.stderr)
        print(f"{len(findings)} findings" if findings else "nothing is damaged")
    return FAILED if findings else OK


def _restore(args: argparse.Namespace) -> int:
    from dovemq.bootstrap.opening import damage_lines

    directory = resolved_settings(args).settings.data
    found = asyncio.run(_fill(args.file, directory))
    if args.json:
        print_json({"data": str(directory), **msgspec.to_builtins(found)})
        return FAILED if found.damaged_count else OK
    for line in damage_lines(found):
        print(line, file=sys.stderr)
    print(f"{directory}: {found.messages} messages, {found.damaged_count} of them damaged")
    return FAILED if found.damaged_count else OK


async def _fill(backup: Path, directory: Path) -> "Verification":
    from dovemq.stores.sqlite import restore_backup

    done = total = 0

    def note(done_now: int, total_now: int) -> None:
        nonlocal done, total
        done, total = done_now, total_now

    async with Progress(lambda: f"{done} of {total} messages checked"):
        return await asyncio.to_thread(restore_backup, backup, directory, note)
