"""`dovemq backup`, `verify` and `restore`."""

import argparse
import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command, add_server_command
from dovemq.cli.output import Progress, print_result, size_text
from dovemq.cli.target import ask_admin, find_target, resolved_settings
from dovemq.cli.values import existing_file
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
    summary = "copy the store of a running server into a file"
    example = "dovemq backup monday.dovemq"
    parser = add_server_command(commands, "backup", _backup, summary, example)
    parser.add_argument("file", type=Path, metavar="FILE", help="path of the new file")
    summary = "check every message of a running server; exit code 1 if one is damaged"
    add_server_command(commands, "verify", _verify, summary, "dovemq verify")
    summary = "fill an empty data directory from a backup, while no server runs on it"
    example = "dovemq restore monday.dovemq --data ./data"
    parser = add_command(commands, "restore", _restore, summary, example)
    parser.add_argument("file", type=existing_file, metavar="FILE", help="path of the backup")
    parser.option("--data", "DIR", "data directory, empty or missing")
    parser.option("--config", "FILE", "settings file of the server")


def _backup(args: argparse.Namespace) -> int:
    if args.file.exists():
        raise WrongUse(f"{args.file} exists; name another file")
    size = asyncio.run(_fetch(args))
    document = {"file": str(args.file), "bytes": size}
    return print_result(args, document, f"{args.file}: {size_text(size)}")


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
    text = f"{len(findings)} findings" if findings else "nothing is damaged"
    return print_result(
        args, report, lambda: _print_findings(findings, text), FAILED if findings else OK
    )


def _print_findings(findings: Iterable[str], text: str) -> None:
    for finding in findings:
        print(finding, file=sys.stderr)
    print(text)


def _restore(args: argparse.Namespace) -> int:
    from dovemq.bootstrap.opening import damage_lines

    directory = resolved_settings(args).settings.data
    found = asyncio.run(_fill(args.file, directory))
    document = {"data": str(directory), **msgspec.to_builtins(found)}
    text = f"{directory}: {found.messages} messages, {found.damaged_count} of them damaged"
    code = FAILED if found.damaged_count else OK
    return print_result(args, document, lambda: _print_findings(damage_lines(found), text), code)


async def _fill(backup: Path, directory: Path) -> "Verification":
    from dovemq.stores.sqlite import restore_backup

    done = total = 0

    def note(done_now: int, total_now: int) -> None:
        nonlocal done, total
        done, total = done_now, total_now

    async with Progress(lambda: f"{done} of {total} messages checked"):
        return await asyncio.to_thread(restore_backup, backup, directory, note)
