"""`dovemq account …`: accounts with their keys, roles and quotas, and what they may do."""

import argparse
import getpass
import sys
from typing import Any, Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_group, add_server_command
from dovemq.cli.credentials import add_account_argument, add_delivery, add_keys, make_key
from dovemq.cli.output import Columns, print_pairs, print_records, print_result, time_text
from dovemq.cli.target import ask_admin
from dovemq.cli.values import number
from dovemq.client import AdminClient
from dovemq.core.accounts import Role

NONE: Final = "none"
_ROLES: Final = tuple(role.value for role in Role)
_QUOTAS: Final = {
    "queues_max": "queues",
    "bytes_max": "bytes of stored messages",
    "requests_per_second": "requests per second",
}
_FIELDS: Final = {"requests_per_second": "requests_per_second_max"}

Document = dict[str, Any]


def add(commands: Commands) -> None:
    summary = "manage accounts, access keys, roles and quotas"
    actions = add_group(commands, "account", summary, "dovemq account add billing --env")
    _add_add_and_set(actions)
    add_keys(actions)
    _add_others(actions)
    _add_may(actions)


def _add_add_and_set(actions: Commands) -> None:
    summary = "add an account with an access key, whose secret is shown only once"
    example = "dovemq account add billing --queues-max 10 --output billing.key"
    parser = add_server_command(actions, "add", _add, summary, example)
    parser.add_argument("name", metavar="NAME", help="name of the new account")
    parser.option("--number", "DIGITS", "twelve digits (default: a free number)")
    parser.add_argument("--role", choices=_ROLES, help="role in the admin API (default: none)")
    for name, what in _QUOTAS.items():
        parser.option(_flag(name), "N", f"quota: {what} (default: no limit)", number)
    add_delivery(parser)
    summary = "change the name, role or quotas of an account"
    example = "dovemq account set billing --role viewer --bytes-max none"
    parser = add_server_command(actions, "set", _set, summary, example)
    add_account_argument(parser)
    parser.option("--name", "NAME", "new name")
    parser.add_argument("--role", choices=(*_ROLES, NONE), help="role in the admin API")
    for name, what in _QUOTAS.items():
        parser.option(_flag(name), "N", f"quota: {what}, or {NONE}", _quota)


def _add_others(actions: Commands) -> None:
    summary = "list accounts with role and quotas"
    add_server_command(actions, "list", _list, summary, "dovemq account list")
    for name, run, summary in (
        ("show", _show, "show an account with its keys"),
        ("disable", _switch, "disable an account, or one of its keys"),
        ("enable", _switch, "enable a disabled account, or one of its keys"),
        ("remove", _remove, "remove an account that owns no queue, or one of its keys"),
        ("password", _password, "set the login password, read from terminal or standard input"),
    ):
        example = f"dovemq account {name} billing"
        parser = add_server_command(actions, name, run, summary, example)
        add_account_argument(parser)
        if name in ("disable", "enable", "remove"):
            text = "access key (default: the whole account)"
            parser.add_argument("key_id", nargs="?", metavar="KEY_ID", help=text)
        if run is _switch:
            parser.set_defaults(enabled=name == "enable")


def _add_may(actions: Commands) -> None:
    summary = "explain whether an account may use an operation on a queue; exit code 1 if not"
    example = "dovemq account may billing SendMessage 000000000000/jobs"
    parser = add_server_command(actions, "may", _may, summary, example)
    add_account_argument(parser)
    parser.add_argument("action", metavar="ACTION", help="SQS operation, such as SendMessage")
    text = "NAME (of this account), ACCOUNT/NAME, URL or ARN"
    parser.add_argument("queue", metavar="QUEUE", help=text)
    parser.option("--address", "IP", "address that the client is assumed to have")
    parser.switch("--secure", "assume that the client uses TLS")


def _flag(quota: str) -> str:
    return "--" + quota.replace("_", "-")


def _quota(text: str) -> int | str:
    return text if text == NONE else number(text)


def _given_quotas(args: argparse.Namespace) -> dict[str, int | None]:
    given = {name: getattr(args, name) for name in _QUOTAS}
    return {
        _FIELDS.get(name, name): None if value == NONE else value
        for name, value in given.items()
        if value is not None
    }


def _add(args: argparse.Namespace) -> int:
    async def make(client: AdminClient) -> Document:
        fields = {"number": args.number, "role": args.role, "quotas": _given_quotas(args)}
        account = await client.add_account(args.name, fields)
        return {"name": account["name"], **await client.add_credential(account["number"])}

    return make_key(args, make)


def _list(args: argparse.Namespace) -> int:
    accounts = ask_admin(args, lambda client: client.accounts())
    columns: Columns = {
        "NUMBER": "number",
        "NAME": "name",
        "ROLE": "role",
        "STATE": _state,
        "KEYS": lambda each: len(each["credentials"]),
        "QUOTAS": _quotas_text,
    }
    return print_result(args, {"accounts": accounts}, lambda: print_records(accounts, columns))


def _show(args: argparse.Namespace) -> int:
    account = ask_admin(args, lambda client: client.account(args.holder))
    return print_result(args, account, lambda: _print_account(account))


def _print_account(account: Document) -> None:
    print_pairs(
        [
            ("number", account["number"]),
            ("name", account["name"]),
            ("role", account["role"] or NONE),
            ("state", _state(account)),
            ("quotas", _quotas_text(account)),
            ("password", "set" if account["has_password"] else NONE),
            ("created", time_text(account["created_ms"])),
        ]
    )
    if account["credentials"]:
        print()
        columns: Columns = {
            "KEY": "key_id",
            "STATE": _state,
            "CREATED": lambda each: time_text(each["created_ms"]),
            "EXPIRES": lambda each: time_text(each["expires_ms"]),
        }
        print_records(account["credentials"], columns)


def _state(document: Document) -> str:
    return "enabled" if document["enabled"] else "disabled"


def _quotas_text(account: Document) -> str:
    given = [f"{name}={most}" for name, most in account["quotas"].items() if most is not None]
    return " ".join(given) or NONE


def _set(args: argparse.Namespace) -> int:
    changes: Document = {}
    if args.name is not None:
        changes["name"] = args.name
    if args.role is not None:
        changes["role"] = None if args.role == NONE else args.role
    if quotas := _given_quotas(args):
        changes["quotas"] = quotas
    if not changes:
        raise WrongUse("give --name, --role or a quota")
    changed = ask_admin(args, lambda client: client.change_account(args.holder, changes))
    return print_result(args, changed, f"{changed['number']} changed")


def _switch(args: argparse.Namespace) -> int:
    changes = {"enabled": args.enabled}

    async def switch(client: AdminClient) -> Document:
        if args.key_id:
            return await client.change_credential(args.holder, args.key_id, changes)
        return await client.change_account(args.holder, changes)

    changed = ask_admin(args, switch)
    return print_result(args, changed, f"{args.key_id or changed['number']} {_state(changed)}")


def _remove(args: argparse.Namespace) -> int:
    async def remove(client: AdminClient) -> Document:
        if args.key_id:
            return await client.remove_credential(args.holder, args.key_id)
        return await client.remove_account(args.holder)

    removed = ask_admin(args, remove)
    return print_result(args, removed, f"{removed['removed']} removed")


def _password(args: argparse.Namespace) -> int:
    password = _typed_password() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise WrongUse("no password was given")
    changed = ask_admin(args, lambda client: client.set_password(args.holder, password))
    return print_result(args, changed, f"the password of {changed['changed']} is set")


def _typed_password() -> str:
    password = getpass.getpass("password: ")
    if getpass.getpass("again: ") != password:
        raise WrongUse("the two passwords differ")
    return password


def _may(args: argparse.Namespace) -> int:
    context = {"address": args.address or "", "secure": "true" if args.secure else ""}
    answer = ask_admin(
        args, lambda client: client.may(args.holder, args.action, args.queue, context)
    )
    lines = [f"{'allowed' if answer['allowed'] else 'denied'}: {answer['reason']}"]
    if answer["statement"]:
        lines.append(f"by statement {answer['statement']}")
    lines += [f"  {step}" for step in answer["steps"]]
    return print_result(args, answer, "\n".join(lines), OK if answer["allowed"] else FAILED)
