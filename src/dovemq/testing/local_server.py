"""A real `dovemq serve` process on free ports, for tests.

The data directory is given, and stays. The server is ready when it prints its line of JSON.
"""

from typing import Any

from dovemq.core.access import AccessKey
from dovemq.load.faults.process import ServerProcess, StartFailed
from dovemq.system.key_file import key_path, read_key

__all__ = ["LocalServer", "StartFailed"]


class LocalServer(ServerProcess):
    """`with LocalServer(directory) as server:` or `start` and `stop`; may be started again."""

    @property
    def access_key(self) -> AccessKey:
        """The root key of the data directory."""
        return read_key(key_path(self.data), self.announced.account)

    @property
    def boto3_kwargs(self) -> dict[str, Any]:
        """`boto3.client("sqs", **server.boto3_kwargs)`."""
        key = self.access_key
        return {
            "endpoint_url": self.endpoint_url,
            "region_name": self.region,
            "aws_access_key_id": key.key_id,
            "aws_secret_access_key": key.secret,
        }

    @property
    def env(self) -> dict[str, str]:
        """The variables of `dovemq env`, and the URL of the admin API."""
        key = self.access_key
        return {
            "AWS_ENDPOINT_URL_DOVEMQ": self.admin_url,
            "AWS_ENDPOINT_URL_SQS": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": key.key_id,
            "AWS_SECRET_ACCESS_KEY": key.secret,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
        }

    def __enter__(self) -> "LocalServer":
        return self.start()

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self.stop()
