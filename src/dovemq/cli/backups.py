"""`dovemq backup`, `verify` and `restore`."""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

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

if TYPE_CHECKING:
    from dovemq.stores.sqlite.verification import Verification

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class BackupFailed(DoveError):
    """The copy could not be kept on this machine."""

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
    parser.add_argument("file", type=Path, metavar="FILE", help="must not exist yet")
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
    parser.add_argument("file", type=existing_file, metavar="FILE")
    parser.add_argument("--data", metavar="DIR", help="the directory, empty or missing")
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
    """Whole or not at all: `FILE.part` takes the name `FILE` once it is on the disk."""
    part = args.file.with_name(args.file.name + ".part")
    try:
        with open(os.open(part, _NEW_FILE, 0o600), "wb") as stream:
            async with find_target(args).admin() as client:
                size = await _stream(client, stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.rename(args.file)
        _sync_directory(args.file.absolute().parent)
    except OSError as error:
        raise BackupFailed(args.file, error.strerror or str(error)) from None
    finally:
        part.unlink(missing_ok=True)
    return size


async def _stream(client: AdminClient, stream: BinaryIO) -> int:
    size = 0

    def take(piece: bytes) -> None:
        nonlocal size
        stream.write(piece)
        size += len(piece)

    async with Progress(lambda: f"{size_text(size)} received"):
        await client.backup(take)
    return size


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
