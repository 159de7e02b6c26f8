"""`dovemq serve`: the service itself, until SIGTERM."""

import argparse
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dovemq.cli.command import OK, Commands, add_command
from dovemq.cli.output import print_json
from dovemq.cli.target import resolved_settings
from dovemq.core.locations import parse_location
from dovemq.settings import FILE_FLAG, Setting, Settings, all_settings

if TYPE_CHECKING:
    from dovemq.bootstrap import Listening


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "serve",
        _run,
        "run the service until SIGTERM",
        "dovemq serve --port 9400 --data ./data",
    )
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """One flag per setting; values are checked together with those of file and environment."""
    parser.add_argument(FILE_FLAG, metavar="FILE", help="settings as TOML (DOVEMQ_CONFIG)")
    for setting in all_settings():
        text = _help(setting)
        if setting.is_switch:
            action = argparse.BooleanOptionalAction
            parser.add_argument(setting.flag, dest=setting.key, action=action, help=text)
        else:
            name = setting.unit.upper() or "VALUE"
            parser.add_argument(setting.flag, dest=setting.key, metavar=name, help=text)


def _help(setting: Setting) -> str:
    choices = f" One of {', '.join(setting.choices)}." if setting.choices else ""
    return f"{setting.help}{choices} Default: {setting.default}. ({setting.variable})"


def _run(args: argparse.Namespace) -> int:
    import uvloop

    from dovemq.bootstrap import serve
    from dovemq.telemetry.logs import set_up_logs

    settings = resolved_settings(args).settings
    set_up_logs(settings.log_level, settings.log_format)

    def announce(listening: "Listening") -> None:
        if args.json:
            print_json(listening)
        else:
            print("\n".join(_greeting(settings, listening)))
        sys.stdout.flush()

    uvloop.run(serve(settings, announce))
    return OK


def _greeting(settings: Settings, listening: "Listening") -> Iterator[str]:
    yield f"SQS endpoint    {listening.endpoint_url}"
    yield f"admin API       {listening.admin_url or 'off'}"
    yield f"data directory  {listening.data}"
    if settings.trace is not None:
        yield f"trace           {parse_location(settings.trace)}"
    if settings.store == "memory://":
        yield "messages are kept in memory and are gone when the server stops"
    if settings.insecure_no_auth:
        yield "signatures are not checked: any credentials will do"
        return
    place = f"--port {listening.endpoint_url.rpartition(':')[2]}"
    if settings.tls_certificate or settings.public_url:
        place = f"--endpoint-url {shlex.quote(settings.public_url or listening.endpoint_url)}"
    yield "for AWS clients, in another terminal:"
    yield f'  eval "$(dovemq env --data {shlex.quote(listening.data)} {place})"'
