"""`dovemq doctor`: the settings in force, the state of the server, and what is missing."""

import argparse
import asyncio
import importlib.util
from collections.abc import Iterator

from msgspec import Struct

from dovemq.cli.command import FAILED, OK, Commands, add_command, add_target
from dovemq.cli.output import print_json, print_table
from dovemq.cli.target import Target, find_target, resolved_settings
from dovemq.client.errors import ClientError, Refused
from dovemq.core.errors import DoveError
from dovemq.pipeline.errors import JavaUnfit, SparkMissing
from dovemq.pipeline.session import check_java
from dovemq.settings import FILE_FLAG, Resolved, all_settings


class Check(Struct, frozen=True):
    name: str
    ok: bool
    found: str


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "doctor",
        _run,
        "show the settings in force and where each came from, and check the server",
        "dovemq doctor --data ./data",
    )
    parser.add_argument(FILE_FLAG, metavar="FILE", help="settings as TOML (DOVEMQ_CONFIG)")
    add_target(parser)


def _run(args: argparse.Namespace) -> int:
    resolved = resolved_settings(args)
    settings = list(_settings(resolved))
    checks = [*asyncio.run(_checks(args)), _spark()]
    if args.json:
        print_json({"settings": settings, "checks": checks})
    else:
        print_table(
            ("SETTING", "VALUE", "SOURCE"),
            [(each["name"], each["value"], each["source"]) for each in settings],
        )
        print()
        print_table(
            ("CHECK", "", "FOUND"),
            [(each.name, "ok" if each.ok else "FAILED", each.found) for each in checks],
        )
    return OK if all(check.ok for check in checks) else FAILED


def _settings(resolved: Resolved) -> Iterator[dict[str, str]]:
    for setting in all_settings():
        value = resolved.value(setting.name)
        yield {
            "name": setting.name,
            "value": setting.default if value is None else str(value),
            "source": resolved.source(setting.name),
        }


async def _checks(args: argparse.Namespace) -> list[Check]:
    try:
        target = find_target(args)
    except DoveError as error:
        return [Check("access key", False, str(error))]
    key = target.key
    found = key.key_id if key else 'none; eval "$(dovemq env)" or name a directory by --data'
    return [
        Check("access key", key is not None, found),
        await _sqs(target),
        await _admin(target),
    ]


async def _sqs(target: Target) -> Check:
    name = f"SQS endpoint {target.endpoint_url}"
    try:
        async with target.sqs() as client:
            await client.call("ListQueues", {"MaxResults": 1})
    except ClientError as error:
        return Check(name, False, str(error))
    return Check(name, True, "answers")


async def _admin(target: Target) -> Check:
    name = f"admin API {target.admin_url}"
    try:
        async with target.admin() as client:
            health = await client.health()
    except Refused as error:
        # Most accounts have no role there, and need none.
        denied = error.code == "AccessDenied"
        return Check(name, denied, f"answers; {error.message}" if denied else str(error))
    except ClientError as error:
        return Check(name, False, str(error))
    return Check(name, health["ready"], f"the store is {health['store']}")


def _spark() -> Check:
    """Never a fault: the service itself needs neither Spark nor Java."""
    name = "Spark, for `dovemq pipeline`"
    if importlib.util.find_spec("pyspark") is None:
        return Check(name, True, str(SparkMissing("pyspark")))
    try:
        return Check(name, True, f"runs on {check_java()}")
    except JavaUnfit as error:
        return Check(name, True, str(error))
