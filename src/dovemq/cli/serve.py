"""`dovemq serve`: the service itself."""

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dovemq.cli.command import OK, CommandParser, Commands, add_command
from dovemq.cli.output import print_result
from dovemq.cli.target import resolved_settings
from dovemq.configuration import FILE_FLAG
from dovemq.core.locations import parse_location
from dovemq.settings import Setting, Settings, all_settings

if TYPE_CHECKING:
    from dovemq.bootstrap.serving import Listening


def add(commands: Commands) -> None:
    summary = "run the service until Ctrl-C or SIGTERM"
    example = "dovemq serve --port 9400 --data ./data"
    add_settings(add_command(commands, "serve", _run, summary, example))


def add_settings(parser: CommandParser) -> None:
    """Add a flag for each setting. Values are checked with those of the file and environment."""
    parser.add_argument(FILE_FLAG, metavar="FILE", help="TOML file with settings (DOVEMQ_CONFIG)")
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

    from dovemq.bootstrap.serving import serve
    from dovemq.telemetry.logs import set_up_logs

    settings = resolved_settings(args).settings
    set_up_logs(settings.log_level, settings.log_format)

    def announce(listening: "Listening") -> None:
        print_result(args, listening, "\n".join(_greeting(settings, listening)))
        sys.stdout.flush()

    uvloop.run(serve(settings, announce))
    return OK


def _greeting(settings: Settings, listening: "Listening") -> Iterator[str]:
    yield f"SQS endpoint    {listening.endpoint_url}"
    yield f"admin API       {listening.admin_url or 'off'}"
    if settings.console and listening.admin_url is not None:
        yield f"console         {listening.admin_url}/console/"
    yield f"data directory  {listening.data}"
    if listening.database is not None:
        yield f"store           {listening.database}"
        alone = "nowhere: no other server can share the store (see --advertise)"
        yield f"advertised at   {settings.advertise or alone}"
    if settings.trace is not None:
        yield f"trace           {parse_location(settings.trace)}"
    if settings.store == "memory://":
        yield "Messages are kept in memory and are lost when the server stops."
    if settings.insecure_no_auth:
        yield "Signatures are not checked: any credentials work."
        return
    yield "For AWS clients, in another terminal:"
    yield f'  eval "$({program_name()} env --data {shlex.quote(listening.data)})"'


def program_name() -> str:
    """This program as a user can type it: by name if it is on the PATH, else by its path."""
    started = sys.argv[0]
    if os.path.basename(started) == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m dovemq"
    found = shutil.which(os.path.basename(started))
    if found and os.path.realpath(found) == os.path.realpath(started):
        return os.path.basename(started)
    return shlex.quote(min(os.path.relpath(started), os.path.abspath(started), key=len))
