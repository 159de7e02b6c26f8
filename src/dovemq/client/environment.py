"""The server and the key that the AWS variables of an environment name, as `dovemq env` prints."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from dovemq.core.access import AccessKey
from dovemq.core.errors import InvalidValue


def key_of(environment: Mapping[str, str]) -> AccessKey | None:
    """The key in the environment. The server knows which account it belongs to."""
    key_id = environment.get("AWS_ACCESS_KEY_ID")
    secret = environment.get("AWS_SECRET_ACCESS_KEY")
    return AccessKey(key_id, secret, "") if key_id and secret else None


def endpoint_of(queue: str, environment: Mapping[str, str]) -> str:
    """The server in the environment, else that of the queue's URL."""
    parts = urlsplit(queue)
    url = environment.get("AWS_ENDPOINT_URL_SQS")
    if url is None and parts.netloc:
        url = f"{parts.scheme}://{parts.netloc}"
    if url is None:
        reason = "It names no server; give its URL or endpoint_url, or set AWS_ENDPOINT_URL_SQS."
        raise InvalidValue("queue", queue, reason)
    return url


def ca_bundle_of(environment: Mapping[str, str]) -> Path | None:
    bundle = environment.get("AWS_CA_BUNDLE")
    return Path(bundle) if bundle else None
