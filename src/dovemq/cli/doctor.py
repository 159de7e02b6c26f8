"""`dovemq doctor`: whether a server or a store works, what is installed, and what is set."""

import argparse
import asyncio
import importlib.util
import re
from collections.abc import Iterator
from typing import Any, Final

from dovemq.cli.cluster import asked_text
from dovemq.cli.command import FAILED, OK, Commands, add_server_command
from dovemq.cli.output import Columns, Progress, print_records, print_result, print_table
from dovemq.cli.target import Target, find_target, resolved_settings
from dovemq.client.admin_session import Document
from dovemq.client.errors import ClientError, Refused
from dovemq.configuration import FILE_FLAG, Resolved
from dovemq.core.checks import Check
from dovemq.core.errors import DoveError
from dovemq.pipeline.errors import JavaUnfit
from dovemq.pipeline.session import check_java
from dovemq.settings import all_settings
from dovemq.stores.urls import parse_store_url
from dovemq.system.extras import extra_missing

_PASSWORD: Final = re.compile(r"^([a-z]+://[^:/@]*):[^@]*@")
_EXTRA_PACKAGES: Final = {
    "trace": "pyarrow",
    "models": "numba",
    "spark": "pyspark",
    "kubernetes": "kubernetes",
    "keda": "grpc",
    "cassandra": "acsylla",
    "postgresql": "asyncpg",
    "redis": "redis",
    "mqtt": "paho",
    "top": "textual",
    "otel": "opentelemetry",
}
"""A package that only the extra brings."""


OF_SETTINGS: Final = "settings"
"""The value of `--store` that stands for the store of the settings, whose URL nobody else sees."""


def add(commands: Commands) -> None:
    summary = "check the server, the access key and the optional packages, or a store alone"
    parser = add_server_command(commands, "doctor", _run, summary, "dovemq doctor --data ./data")
    parser.option(
        "--store",
        "URL",
        "store to check instead of a server, without changing it; `settings` is that of "
        "DOVEMQ_STORE or the file",
    )
    parser.option(FILE_FLAG, "FILE", "TOML file with settings (DOVEMQ_CONFIG)")
    parser.switch("--settings", "also list all settings with value and source")


def _run(args: argparse.Namespace) -> int:
    subject = "store" if args.store else "server"
    if args.store == OF_SETTINGS:
        args.store = None
    resolved = resolved_settings(args)
    if subject == "store":
        checks = asyncio.run(_store_checks(resolved))
    else:
        checks = [*asyncio.run(_checks(args)), *_extras()]
    settings = list(_settings(resolved)) if args.settings else []
    listed = {"settings": settings} if args.settings else {}
    is_broken = bool(_named(checks, "broken"))
    document = {"ok": not is_broken, "checks": checks, **listed}
    code = FAILED if is_broken else OK
    return print_result(args, document, lambda: _print(subject, checks, settings), code)


async def _store_checks(resolved: Resolved) -> list[Check]:
    # Imported here, since other checks need no store.
    from dovemq.bootstrap.inspecting import inspect_store

    settings = resolved.settings
    async with Progress(lambda: "looking at the store"):
        return await inspect_store(parse_store_url(settings.store, settings.data))


def _named(checks: list[Check], state: str) -> str:
    return ", ".join(check.name for check in checks if check.state == state)


def _print(subject: str, checks: list[Check], settings: list[dict[str, Any]]) -> None:
    broken, weak = _named(checks, "broken"), _named(checks, "weak")
    verdict = f"broken: {broken}" if broken else f"ok: the {subject} can be used"
    print(f"{verdict}; weak: {weak}" if weak else verdict)
    print()
    print_table(
        ("CHECK", "STATE", "FOUND"), [(each.name, each.state, each.found) for each in checks]
    )
    if settings:
        print()
        columns: Columns = {
            "SETTING": "name",
            "VALUE": lambda each: _shown(each["value"]),
            "SOURCE": "source",
        }
        print_records(settings, columns)


def _settings(resolved: Resolved) -> Iterator[dict[str, Any]]:
    for setting in all_settings():
        value = resolved.value(setting.name)
        yield {
            "name": setting.name,
            "value": value if isinstance(value, bool | int | None) else _public(str(value)),
            "source": resolved.source(setting.name),
        }


def _public(value: str) -> str:
    """The value without the password of a URL."""
    return _PASSWORD.sub(r"\1:***@", value)


def _shown(value: object) -> str:
    if value is None or value == "":
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


async def _checks(args: argparse.Namespace) -> list[Check]:
    try:
        target = find_target(args)
    except DoveError as error:
        return [Check("access key", "broken", str(error))]
    key = target.key
    found = key.key_id if key else 'none; run eval "$(dovemq env)", or give --data DIR'
    return [
        Check("access key", "ok" if key else "broken", found),
        await _sqs(target),
        await _admin(target),
        *await _cluster(target),
    ]


async def _sqs(target: Target) -> Check:
    name = f"SQS endpoint {target.endpoint_url}"
    try:
        async with target.sqs() as client:
            await client.call("ListQueues", {"MaxResults": 1})
    except ClientError as error:
        return Check(name, "broken", str(error))
    return Check(name, "ok", "answers")


async def _admin(target: Target) -> Check:
    name = f"admin API {target.admin_url or ''}".strip()
    if target.admin_url is None:
        return Check(name, "absent", "switched off by --no-admin")
    try:
        async with target.admin() as client:
            health = await client.health()
    except Refused as error:
        # Most accounts have no role there, and need none.
        denied = error.code == "AccessDenied"
        found = f"answers; {error.message}" if denied else str(error)
        return Check(name, "ok" if denied else "broken", found)
    except ClientError as error:
        return Check(name, "broken", str(error))
    # Servers of earlier releases give no reason.
    reason = health.get("reason") or f"the store is {health['store']}"
    return Check(name, "ok" if health["ready"] else "broken", reason)


async def _cluster(target: Target) -> list[Check]:
    """The database and the front ends of a shared store; nothing for others."""
    if target.admin_url is None:
        return []
    try:
        async with target.admin() as client:
            found = await client.cluster()
    except Refused as error:
        asked_in_vain = error.code in ("AccessDenied", "NotShared", "NotFound")
        return [] if asked_in_vain else [Check("database", "broken", error.message)]
    except ClientError:
        # The check of the admin API has reported it.
        return []
    return list(_cluster_checks(found))


def _cluster_checks(found: Document) -> Iterator[Check]:
    yield Check(f"database {found['database']}", "ok", "answers")
    yield Check("asked", "ok" if found["lease"] else "broken", asked_text(found))
    front_ends = found["front_ends"]
    listed = ", ".join(f"{each['address'] or 'alone'} ({each['state']})" for each in front_ends)
    yield Check("front ends", "ok" if front_ends else "broken", f"{len(front_ends)}: {listed}")
    living = {each["address"] for each in front_ends}
    for link in found["links"]:
        if link["refused"] and link["address"] in living:
            yield Check(f"link to {link['address']}", "broken", link["cause"])


def _extras() -> Iterator[Check]:
    """The optional packages. The service itself needs none of them."""
    for extra, package in _EXTRA_PACKAGES.items():
        name = f"extra {extra}"
        if importlib.util.find_spec(package) is None:
            yield Check(name, "absent", f"optional; {extra_missing(extra)}")
        elif extra == "spark":
            yield _spark(name)
        else:
            yield Check(name, "ok", "installed")


def _spark(name: str) -> Check:
    try:
        return Check(name, "ok", f"installed; runs on {check_java()}")
    except JavaUnfit as error:
        return Check(name, "absent", f"optional; {error}")
