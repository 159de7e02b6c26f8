"""`dovemq cluster`: the front ends that share a store."""

import argparse
from typing import Any

from dovemq.cli import cluster_sizing
from dovemq.cli.command import Commands, add_group, add_server_command
from dovemq.cli.output import Columns, pair_lines, print_records, print_result
from dovemq.cli.target import ask_admin


def add(commands: Commands) -> None:
    example = "dovemq cluster status"
    actions = add_group(commands, "cluster", "the front ends that share a store", example)
    summary = "list front ends, owners of partitions, links and recoveries"
    add_server_command(actions, "status", _status, summary, example)
    cluster_sizing.add(actions)


def _status(args: argparse.Namespace) -> int:
    found = ask_admin(args, lambda client: client.cluster())
    return print_result(args, found, lambda: _print(found))


def asked_text(found: dict[str, Any]) -> str:
    """The front end that has answered, and whether it can serve."""
    if not found["lease"]:
        return "a front end without a lease, which serves no queue"
    does = "leads" if found["leads"] else "follows"
    return f"front end {found['front_end']}, which holds its lease and {does}"


def _print(found: dict[str, Any]) -> None:
    recoveries = found["recoveries"]
    pairs = [
        ("database", found["database"]),
        ("asked", asked_text(found)),
        ("opened here", f"{recoveries['opened']} (longest {recoveries['opening_ms_max']} ms)"),
        ("handed over", recoveries["handed_over"]),
        ("lost", recoveries["lost"]),
    ]
    print("\n".join(pair_lines(pairs)))
    living = {each["front_end"] for each in found["front_ends"]}
    tables: list[tuple[list[dict[str, Any]], Columns]] = [
        (
            found["front_ends"],
            {
                "FRONT END": "front_end",
                "ADDRESS": "address",
                "STATE": "state",
                "RELEASE": "release",
            },
        ),
        (
            found["partitions"],
            {
                "QUEUE": "queue",
                "PARTITION": "partition",
                "OWNER": lambda each: each["front_end"] if each["front_end"] in living else "-",
                "EPOCH": "epoch",
            },
        ),
        (
            found["links"],
            {
                "LINK TO": "address",
                "CONNECTED": lambda each: "yes" if each["connected"] else "no",
                "IN FLIGHT": "in_flight",
                "OPENINGS": "openings",
                "CAUSE": "cause",
            },
        ),
    ]
    for records, columns in tables:
        if records:
            print()
            print_records(records, columns)
