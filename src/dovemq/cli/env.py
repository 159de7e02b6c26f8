"""`dovemq env`: what AWS clients need to know, as lines for a shell."""

import argparse
import os
import shlex
from typing import Final

from dovemq.cli.command import OK, Commands, add_ca_bundle, add_command
from dovemq.cli.output import json_text
from dovemq.cli.target import CA_VARIABLE, local_urls, resolved_settings
from dovemq.system.key_file import key_path, read_key

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
    parser.add_argument(
        "--endpoint-url", metavar="URL", help="its address as clients know it, if another"
    )
    add_ca_bundle(parser)


def _run(args: argparse.Namespace) -> int:
    settings = resolved_settings(args).settings
    key = read_key(key_path(settings.data), settings.account)
    url = args.endpoint_url or local_urls(settings)[0]
    print(exports(url, key.key_id, key.secret, settings.region, args.ca_bundle, args.json))
    return OK


def exports(
    endpoint_url: str,
    key_id: str,
    secret: str,
    region: str,
    ca_bundle: str | os.PathLike[str] | None,
    as_json: bool,
) -> str:
    """What a shell evaluates, so that AWS clients use this server by this key."""
    variables = {
        "AWS_ENDPOINT_URL_SQS": endpoint_url,
        "AWS_ACCESS_KEY_ID": key_id,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
    }
    if ca_bundle:
        variables[CA_VARIABLE] = os.path.abspath(ca_bundle)
    if as_json:
        return json_text({"export": variables, "unset": _UNSET})
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    return "\n".join([*lines, "unset " + " ".join(_UNSET)])
