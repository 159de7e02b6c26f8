"""`dovemq audit`: the log of changes on a server, with the account that made each."""

import argparse
from typing import Any, Final

from dovemq.cli.command import OK, Commands, WrongUse, add_option, add_server_command, count, number
from dovemq.cli.output import json_text, print_json, print_table
from dovemq.cli.target import ask_admin
from dovemq.client import AdminClient

LAST: Final = 50
PAGES_MAX: Final = 10_000
_PAGE: Final = 1_000
_DETAILS_SHOWN: Final = 80

Document = dict[str, Any]


def add(commands: Commands) -> None:
    summary = "list changes of accounts and queues, and denied attempts"
    parser = add_server_command(commands, "audit", _run, summary, "dovemq audit --last 20")
    add_option(parser, "--last", "N", "number of newest entries", count, LAST)
    text = "sequence of an entry, to list all entries after it"
    add_option(parser, "--after", "SEQUENCE", text, number)


def _run(args: argparse.Namespace) -> int:
    if args.last > _PAGE:
        raise WrongUse(f"--last is at most {_PAGE}; --after lists everything")
    entries = ask_admin(args, lambda client: _entries(client, args.last, args.after))
    if args.json:
        print_json({"entries": entries})
        return OK
    print_table(
        ("SEQUENCE", "TIME", "ACCOUNT", "PEER", "ACTION", "TARGET", "OUTCOME", "DETAILS"),
        [
            (
                each["sequence"],
                each["ts"],
                each["account"] or "-",
                each["peer"] or "-",
                each["action"],
                each["target"] or "-",
                each["outcome"],
                json_text(each["details"])[:_DETAILS_SHOWN] if each["details"] else "",
            )
            for each in entries
        ],
    )
    return OK


async def _entries(client: AdminClient, last: int, after: int | None) -> list[Document]:
    if after is None:
        newest: list[Document] = (await client.audit(last))["entries"]
        return newest
    entries: list[Document] = []
    for _ in range(PAGES_MAX):
        page = await client.audit(_PAGE, after)
        entries += page["entries"]
        if page["next"] is None:
            break
        after = page["next"]
    return entries
