"""`dovemq env`: what AWS clients need to know, as lines for a shell."""

import argparse
import shlex
from typing import Final

from dovemq.cli.command import OK, Commands, add_command
from dovemq.cli.output import print_json
from dovemq.cli.target import local_urls, resolved_settings
from dovemq.server.access import key_path, read_key

_UNSET: Final = ("AWS_SESSION_TOKEN", "AWS_PROFILE")


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "env",
        _run,
        "print the export lines that point AWS clients at the local server",
        'eval "$(dovemq env)"',
    )
    parser.add_argument("--data", metavar="DIR", help="data directory of the server")
    parser.add_argument("--port", metavar="N", help="port of the server")
    parser.add_argument("--host", metavar="ADDRESS", help="address of the server")
    parser.add_argument("--region", metavar="NAME", help="region of the server")
    parser.add_argument("--config", metavar="FILE", help="settings file of the server")


def _run(args: argparse.Namespace) -> int:
    settings = resolved_settings(args).settings
    key = read_key(key_path(settings.data), settings.account)
    variables = {
        "AWS_ENDPOINT_URL_SQS": local_urls(settings)[0],
        "AWS_ACCESS_KEY_ID": key.key_id,
        "AWS_SECRET_ACCESS_KEY": key.secret,
        "AWS_REGION": settings.region,
        "AWS_DEFAULT_REGION": settings.region,
    }
    if args.json:
        print_json({"export": variables, "unset": _UNSET})
        return OK
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
    print("unset " + " ".join(_UNSET))
    return OK
