"""Which server a command talks to, and by which key: flags, then environment, then settings."""

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from dovemq.cli.command import WrongUse
from dovemq.cli.output import Progress
from dovemq.cli.profiles import read_profile
from dovemq.client import AdminClient, SqsClient
from dovemq.core.access import AccessKey
from dovemq.settings import Resolved, Settings, reachable_host, resolve
from dovemq.system.key_file import key_path, read_key

ADMIN_VARIABLE: Final = "AWS_ENDPOINT_URL_DOVEMQ"
"""As AWS's tools name the address of a service; needed where it is not on the next port."""
CA_VARIABLE: Final = "AWS_CA_BUNDLE"

_WAITING: Final = "waiting for the server"

T = TypeVar("T")


class Target(Struct, frozen=True):
    endpoint_url: str
    admin_url: str
    key: AccessKey | None
    region: str
    ca_bundle: Path | None

    def sqs(self) -> SqsClient:
        return SqsClient(self.endpoint_url, self.key, region=self.region, ca_bundle=self.ca_bundle)

    def admin(self) -> AdminClient:
        return AdminClient(self.admin_url, self.key, region=self.region, ca_bundle=self.ca_bundle)


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


def find_target(args: argparse.Namespace) -> Target:
    environment = os.environ
    settings = resolved_settings(args).settings
    local = args.endpoint_url is None and bool(args.data or args.port)
    url = args.endpoint_url
    if url is None and not local:
        url = environment.get("AWS_ENDPOINT_URL_SQS")
    profile = read_profile(args.profile, environment) if args.profile else None
    if profile is not None:
        key: AccessKey | None = AccessKey(profile.key_id, profile.secret, "")
    else:
        key = None if args.data else _key_of(environment)
    file = key_path(settings.data)
    if key is None and (args.data or file.exists()):
        key = read_key(file, settings.account)
    region = args.region or (profile and profile.region)
    region = region or (not local and environment.get("AWS_REGION")) or settings.region
    if url is None:
        url, admin_url = local_urls(settings)
    else:
        admin_url = _next_port(url)
    if not local:
        admin_url = environment.get(ADMIN_VARIABLE, admin_url)
    bundle = args.ca_bundle or environment.get(CA_VARIABLE)
    return Target(url, args.admin_url or admin_url, key, region, Path(bundle) if bundle else None)


def resolved_settings(args: argparse.Namespace) -> Resolved:
    file = getattr(args, "config", None)
    return resolve(vars(args), os.environ, Path(file) if file else None)


def local_urls(settings: Settings) -> tuple[str, str]:
    """Of the SQS endpoint and of the admin API, as seen from this machine."""
    origin = f"{settings.scheme}://{reachable_host(settings.host)}"
    admin_origin = f"{settings.scheme}://{reachable_host(settings.admin_host_chosen)}"
    return f"{origin}:{settings.port}", f"{admin_origin}:{settings.admin_port_chosen}"


def _key_of(environment: Mapping[str, str]) -> AccessKey | None:
    """Of whatever account: the server knows whose it is."""
    key_id = environment.get("AWS_ACCESS_KEY_ID")
    secret = environment.get("AWS_SECRET_ACCESS_KEY")
    return AccessKey(key_id, secret, "") if key_id and secret else None


def _next_port(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WrongUse(f"{url!r} is not a URL") from None
    host = parts.netloc.rpartition("@")[2].removesuffix(f":{port}")
    default = 443 if parts.scheme == "https" else 80
    return f"{parts.scheme}://{host}:{(port or default) + 1}"
