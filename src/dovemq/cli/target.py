"""The server that a command talks to and the access key it uses.

Flags come first, then the AWS variables of the environment, then the local server.
"""

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from dovemq.cli.command import WrongUse
from dovemq.cli.output import Progress
from dovemq.cli.profiles import read_profile
from dovemq.client import AdminClient, SqsClient, WorkflowClient
from dovemq.client.environment import key_of
from dovemq.configuration import Resolved, reachable_host, resolve
from dovemq.core.access import AccessKey
from dovemq.system.key_file import key_path, read_key
from dovemq.system.running import RunningServer, find_running

ADMIN_VARIABLE: Final = "AWS_ENDPOINT_URL_DOVEMQ"
"""Address of the admin API, named as AWS's tools do. Needed if it is not on the next port."""
CA_VARIABLE: Final = "AWS_CA_BUNDLE"

_WAITING: Final = "waiting for the server"
_NOT_RUNNING: Final = 0

T = TypeVar("T")


class Target(Struct, frozen=True):
    """`admin_url` is None for a server that runs without the admin API."""

    endpoint_url: str
    admin_url: str | None
    key: AccessKey | None
    region: str
    ca_bundle: Path | None
    session_token: str | None = None

    def sqs(self) -> SqsClient:
        return SqsClient(
            self.endpoint_url,
            self.key,
            region=self.region,
            ca_bundle=self.ca_bundle,
            session_token=self.session_token,
        )

    def admin(self) -> AdminClient:
        url = self._admin_address()
        return AdminClient(url, self.key, region=self.region, ca_bundle=self.ca_bundle)

    def workflows(self) -> WorkflowClient:
        url = self._admin_address()
        return WorkflowClient(url, self.key, region=self.region, ca_bundle=self.ca_bundle)

    def _admin_address(self) -> str:
        if self.admin_url is None:
            raise WrongUse("this server has no admin API: it was started with --no-admin")
        return self.admin_url


def ask_sqs(args: argparse.Namespace, ask: Callable[[SqsClient], Awaitable[T]]) -> T:
    async def asked() -> T:
        async with find_target(args).sqs() as client, Progress(lambda: _WAITING):
            return await ask(client)

    return asyncio.run(asked())


def ask_admin(args: argparse.Namespace, ask: Callable[[AdminClient], Awaitable[T]]) -> T:
    async def asked() -> T:
        async with find_target(args).admin() as client, Progress(lambda: _WAITING):
            return await ask(client)

    return asyncio.run(asked())


def ask_workflows(args: argparse.Namespace, ask: Callable[[WorkflowClient], Awaitable[T]]) -> T:
    async def asked() -> T:
        async with find_target(args).workflows() as client, Progress(lambda: _WAITING):
            return await ask(client)

    return asyncio.run(asked())


def find_target(args: argparse.Namespace) -> Target:
    environment = os.environ
    resolved = resolved_settings(args)
    settings = resolved.settings
    local = args.endpoint_url is None and bool(args.data or args.port)
    url = args.endpoint_url
    if url is None and not local:
        url = environment.get("AWS_ENDPOINT_URL_SQS")
    profile = read_profile(args.profile, environment) if args.profile else None
    token = None
    if profile is not None:
        key: AccessKey | None = AccessKey(profile.key_id, profile.secret, "")
        token = profile.session_token
    else:
        key = None if args.data else key_of(environment)
        token = environment.get("AWS_SESSION_TOKEN") if key else None
    file = key_path(settings.data)
    if key is None and (args.data or file.exists()):
        key = read_key(file, settings.account)
    server = local_server(resolved)
    region = args.region or (profile and profile.region)
    region = region or (not local and environment.get("AWS_REGION")) or server.region
    known = url is None or url == server.endpoint_url
    admin_url = server.admin_url if known else _next_port(url)
    if not local:
        admin_url = environment.get(ADMIN_VARIABLE, admin_url)
    bundle = args.ca_bundle or environment.get(CA_VARIABLE)
    return Target(
        url or server.endpoint_url,
        args.admin_url or admin_url,
        key,
        region,
        Path(bundle) if bundle else None,
        token,
    )


def resolved_settings(args: argparse.Namespace) -> Resolved:
    file = getattr(args, "config", None)
    return resolve(vars(args), os.environ, Path(file) if file else None)


def local_server(resolved: Resolved) -> RunningServer:
    """The server that runs on the data directory, else the one that the settings describe.

    A port or host given as a flag wins over what the directory says.
    """
    settings = resolved.settings
    given = {resolved.source("port"), resolved.source("host")} & {"--port", "--host"}
    running = None if given else find_running(settings.data)
    if running is not None:
        return running
    origin = f"{settings.scheme}://{reachable_host(settings.host)}"
    admin_origin = f"{settings.scheme}://{reachable_host(settings.admin_host_chosen)}"
    return RunningServer(
        endpoint_url=f"{origin}:{settings.port}",
        admin_url=f"{admin_origin}:{settings.admin_port_chosen}",
        public_url=settings.public_url,
        region=settings.region,
        pid=_NOT_RUNNING,
    )


def _next_port(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WrongUse(f"{url!r} is not a URL") from None
    host = parts.netloc.rpartition("@")[2].removesuffix(f":{port}")
    default = 443 if parts.scheme == "https" else 80
    return f"{parts.scheme}://{host}:{(port or default) + 1}"
