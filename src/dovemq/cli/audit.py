"""`dovemq audit`: the log of changes on a server, with the account that made each."""

import argparse
from typing import Any, Final

from dovemq.cli.command import Commands, WrongUse, add_server_command
from dovemq.cli.output import Columns, json_text, print_records, print_result
from dovemq.cli.target import ask_admin
from dovemq.cli.values import count, number
from dovemq.client import AdminClient

LAST: Final = 50
PAGES_MAX: Final = 10_000
_PAGE: Final = 1_000
_DETAILS_SHOWN: Final = 80

Document = dict[str, Any]


def add(commands: Commands) -> None:
    summary = "list changes of accounts and queues, and denied attempts"
    parser = add_server_command(commands, "audit", _run, summary, "dovemq audit --last 20")
    parser.option("--last", "N", "number of newest entries", count, LAST)
    text = "sequence of an entry, to list all entries after it"
    parser.option("--after", "SEQUENCE", text, number)


def _run(args: argparse.Namespace) -> int:
    if args.last > _PAGE:
        raise WrongUse(f"--last is at most {_PAGE}; --after lists everything")
    entries = ask_admin(args, lambda client: _entries(client, args.last, args.after))
    columns: Columns = {
        "SEQUENCE": "sequence",
        "TIME": "ts",
        "ACCOUNT": "account",
        "PEER": "peer",
        "ACTION": "action",
        "TARGET": "target",
        "OUTCOME": "outcome",
        "DETAILS": lambda each: each["details"] and json_text(each["details"])[:_DETAILS_SHOWN],
    }
    return print_result(args, {"entries": entries}, lambda: print_records(entries, columns))


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
