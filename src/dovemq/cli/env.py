"""`dovemq env`: the environment variables of AWS clients, as lines for a shell."""

import argparse
import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import Final

from dovemq.cli.command import OK, Commands, add_command
from dovemq.cli.output import json_text
from dovemq.cli.target import CA_VARIABLE, local_server, resolved_settings
from dovemq.client import ClientError, SqsClient
from dovemq.core.access import AccessKey
from dovemq.system.key_file import key_path, read_key

CHECK_SECONDS_MAX: Final = 2.0
_UNSET: Final = ("AWS_SESSION_TOKEN", "AWS_PROFILE")


def add(commands: Commands) -> None:
    summary = "print the export lines that point AWS clients at the local server"
    parser = add_command(commands, "env", _run, summary, 'eval "$(dovemq env)"')
    parser.option("--data", "DIR", "data directory of the server")
    parser.option("--port", "N", "port of the server")
    parser.option("--host", "ADDRESS", "address of the server")
    parser.option("--region", "NAME", "region of the server")
    parser.option("--config", "FILE", "settings file of the server")
    parser.option("--endpoint-url", "URL", "address of the server as its clients know it")
    parser.option("--ca-bundle", "FILE", "trusted certificates for https (AWS_CA_BUNDLE)")


def _run(args: argparse.Namespace) -> int:
    resolved = resolved_settings(args)
    key = read_key(key_path(resolved.settings.data), resolved.settings.account)
    server = local_server(resolved)
    url = args.endpoint_url or server.public_url or server.endpoint_url
    region = args.region or server.region
    bundle = args.ca_bundle or os.environ.get(CA_VARIABLE)
    print(exports(url, key.key_id, key.secret, region, args.ca_bundle, args.json))
    problem = asyncio.run(_problem(url, key, region, Path(bundle) if bundle else None))
    if problem:
        print(f"dovemq: the server does not answer: {problem}", file=sys.stderr)
    return OK


async def _problem(url: str, key: AccessKey, region: str, ca_bundle: Path | None) -> str | None:
    """The reason why the server at `url` cannot be used, or None if it answers."""
    client = SqsClient(
        url, key, region=region, ca_bundle=ca_bundle, answer_seconds_max=CHECK_SECONDS_MAX
    )
    try:
        async with client:
            await client.call("ListQueues", {"MaxResults": 1})
    except ClientError as error:
        return str(error)
    return None


def exports(
    endpoint_url: str,
    key_id: str,
    secret: str,
    region: str,
    ca_bundle: str | os.PathLike[str] | None,
    as_json: bool,
) -> str:
    """Lines for a shell to evaluate, so that AWS clients use this server with this key."""
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
