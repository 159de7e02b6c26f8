"""`dovemq queue explain`: why a queue has its partitions and its order hint, and last changes."""

import argparse
from typing import Any

from dovemq.cli.command import Commands, add_queue, add_server_command
from dovemq.cli.output import Columns, print_records, print_result
from dovemq.cli.target import ask_admin, ask_sqs

Document = dict[str, Any]


def add_explain(actions: Commands) -> None:
    summary = "explain the number of partitions and an adaptive order hint, with the last changes"
    parser = add_server_command(actions, "explain", _explain, summary, "dovemq queue explain jobs")
    add_queue(parser)


def _explain(args: argparse.Namespace) -> int:
    url = ask_sqs(args, lambda client: client.queue_url(args.queue))
    account, name = url.split("/")[-2:]
    found = ask_admin(args, lambda client: client.explanation(account, name))
    return print_result(args, found, lambda: _print(found))


def _print(found: Document) -> None:
    for sentence in found["sentences"]:
        print(sentence)
    if found["inhibited_ms"]:
        print(f"inhibited for another {found['inhibited_ms'] / 1_000:.0f} s")
    print()
    print_records(found["partitions"], _figures() if found["auto"] else _counts())
    if found["actions"]:
        print()
        print_records(found["actions"], _actions())
    if found["auto"] and not found["leads"]:
        print()
        print(
            "Another front end leads: it decides by its own view, and its audit log has its "
            "actions. `dovemq cluster status` shows it."
        )


def _counts() -> Columns:
    return {"PARTITION": "number", "STATE": "state", "VISIBLE": "visible", "HIDDEN": "held"}


def _figures() -> Columns:
    return {
        **_counts(),
        "PRODUCERS": "producers",
        "CONSUMERS": "consumers",
        "LOAD": lambda each: _rounded(each["load"], ".2f"),
        "CAPACITY": _capacity,
        "OPERATIONS/S": "operations",
        "CPU": lambda each: _rounded(each["utilisation"], ".0%"),
        "BALANCE": "balance",
    }


def _actions() -> Columns:
    return {
        "TIME": "ts",
        "ACTION": lambda each: f"{each['action']} {_changed(each)}".rstrip(),
        "RULE": lambda each: each.get("rule"),
        "REASON": lambda each: each.get("reason"),
    }


def _changed(action: Document) -> object:
    """The partition that was changed, or the new order hint."""
    return action.get("partition", action.get("order_hint", ""))


def _capacity(partition: Document) -> str:
    """The capacity; one that was not measured but assumed is in parentheses."""
    text = _rounded(partition["capacity"], ".4g")
    return text if partition["capacity_measured"] is not None or not text else f"({text})"


def _rounded(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
