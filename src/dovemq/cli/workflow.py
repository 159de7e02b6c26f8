"""`dovemq workflow …`: types of jobs, their jobs, and the workers that do their tasks."""

import argparse
from pathlib import Path
from typing import Any

from dovemq.cli import workflow_jobs, workflow_sizing, workflow_worker
from dovemq.cli.command import CommandParser, Commands, WrongUse, add_group, add_server_command
from dovemq.cli.output import Columns, print_pairs, print_records, print_result, time_text
from dovemq.cli.target import ask_workflows
from dovemq.cli.values import count, existing_file
from dovemq.client import WorkflowClient
from dovemq.configuration import read_toml
from dovemq.core.errors import WorkflowInvalid
from dovemq.core.workflows.reading import read_file

Document = dict[str, Any]


def add(commands: Commands) -> None:
    summary = "run jobs of several tasks over topics, with workers"
    actions = add_group(commands, "workflow", summary, "dovemq workflow put workflow.toml")
    _add_put(actions)
    for name, run, text in (
        ("list", _list, "list the workflows of an account"),
        ("show", _show, "show the tasks of a workflow"),
    ):
        example = f"dovemq workflow {name}" + (" report" if name == "show" else "")
        parser = add_server_command(actions, name, run, text, example)
        add_owner(parser)
        if name == "show":
            parser.add_argument("type", metavar="TYPE", help="type of the jobs")
            parser.option("--version", "N", "version (default: the newest)", count)
    workflow_jobs.add(actions)
    workflow_worker.add(actions)
    workflow_sizing.add(actions)


def add_owner(parser: CommandParser) -> None:
    text = "number of another account, which needs a role (default: that of the key)"
    parser.option("--owner", "NUMBER", text, default="")


def _add_put(actions: Commands) -> None:
    summary = "store the workflows of a file; a changed one gets a new version"
    example = "dovemq workflow put workflow.toml"
    parser = add_server_command(actions, "put", _put, summary, example)
    text = "TOML file with tables [jobs.TYPE], and perhaps [topics.TOPIC]"
    parser.add_argument("file", type=existing_file, metavar="FILE", help=text)
    parser.switch("--check", "check the file only, without a server")
    add_owner(parser)


def _put(args: argparse.Namespace) -> int:
    bodies = _read(args.file)
    if args.check:
        types = sorted(bodies)
        return print_result(args, {"types": types}, f"{args.file}: {', '.join(types)}: sound")

    async def put(client: WorkflowClient) -> list[Document]:
        return [
            await client.put_workflow(type_, body, account=args.owner)
            for type_, body in bodies.items()
        ]

    stored = ask_workflows(args, put)
    return print_result(args, {"workflows": stored}, lambda: print_records(stored, _COLUMNS))


def _read(path: Path) -> dict[str, Document]:
    content = read_toml(path, "name another file")
    try:
        return read_file(content)
    except WorkflowInvalid as error:
        raise WrongUse(f"{path}: {error}") from None


def _tasks(spec: Document) -> str:
    return " | ".join(" ".join(route["tasks"]) for route in spec["routes"])


_COLUMNS: Columns = {
    "TYPE": "type",
    "VERSION": "version",
    "TOPICS": lambda spec: " ".join(spec["topics"]),
    "TASKS": _tasks,
}


def _list(args: argparse.Namespace) -> int:
    found = ask_workflows(args, lambda client: client.workflows(account=args.owner))
    return print_result(args, {"workflows": found}, lambda: print_records(found, _COLUMNS))


def _show(args: argparse.Namespace) -> int:
    spec = ask_workflows(
        args,
        lambda client: client.workflow(args.type, version=args.version, account=args.owner),
    )
    return print_result(args, spec, lambda: _print_spec(spec))


def _print_spec(spec: Document) -> None:
    settings = ("attempts_max", "backoff_seconds", "patience_seconds", "retention_seconds")
    print_pairs(
        [
            ("type", spec["type"]),
            ("version", spec["version"]),
            ("created", time_text(spec["created_ms"])),
            *((name, spec[name]) for name in settings),
        ]
    )
    several = len(spec["routes"]) > 1
    rows = [
        {
            "route": f"{number} ({route['share']:.0%})" if several else number,
            "task": name,
            "topic": task["topic"],
            "after": " ".join(task["after"]),
            "queue": spec["topics"][task["topic"]]["queue"],
        }
        for number, route in enumerate(spec["routes"])
        for name, task in route["tasks"].items()
    ]
    print()
    print_records(rows, {name.upper(): name for name in rows[0]})
