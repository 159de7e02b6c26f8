"""A real S3 server on 127.0.0.1 for tests: moto's, as a process, with one bucket.

Objects are kept in memory until the server stops. Keys are not checked.
"""

import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dovemq.testing.daemons import Daemon, LocalService

HOST: Final = "127.0.0.1"
REGION: Final = "us-east-1"
ACCESS_KEY: Final = "testing"
_LISTENS: Final = re.compile(r"Running on http://127\.0\.0\.1:(\d+)")


class LocalS3(LocalService):
    """`with LocalS3(directory) as s3:` then `s3.uri("trace")`; the log is in the directory.

    `env` has the keys for programs.
    """

    def __init__(self, directory: Path, bucket: str = "dovemq") -> None:
        super().__init__(directory)
        self.bucket = bucket
        self._port = ""

    def launch(self) -> None:
        command = (sys.executable, "-m", "moto.server", "-H", HOST, "-p", "0")
        self.daemon = Daemon(command, os.environ, self.directory / "s3.log")
        self._port = self.daemon.await_line(_LISTENS)[1]
        self.files.create_dir(self.bucket)

    def stop(self) -> None:
        """Stops the server, also a frozen one; all objects are lost."""
        if self.daemon is not None:
            self.daemon.kill()
            self.daemon = None

    def freeze(self) -> None:
        """Stops answering; connections are still accepted."""
        assert self.daemon is not None, "the server is not running"
        self.daemon.process.send_signal(signal.SIGSTOP)

    @property
    def endpoint(self) -> str:
        return f"{HOST}:{self._port}"

    @property
    def env(self) -> dict[str, str]:
        """The environment of programs that use AWS libraries; the last entry disables the
        metadata service."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": ACCESS_KEY,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def uri(self, prefix: str) -> str:
        """Returns a URI for Arrow and `dovemq serve --trace`."""
        options = f"endpoint_override={self.endpoint}&scheme=http&region={REGION}"
        return f"s3://{self.bucket}/{prefix}?{options}"

    def spark_uri(self, prefix: str) -> str:
        return f"s3a://{self.bucket}/{prefix}"

    def spark_settings(self, jars: Sequence[Path]) -> dict[str, str]:
        """`jars` are those of `hadoop_jars.s3a_jars`; the driver must be started with them."""
        hadoop = {
            "endpoint": f"http://{self.endpoint}",
            "endpoint.region": REGION,
            "path.style.access": "true",
            "access.key": ACCESS_KEY,
            "secret.key": ACCESS_KEY,
            "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        }
        named = {f"spark.hadoop.fs.s3a.{name}": value for name, value in hadoop.items()}
        return {"spark.jars": ",".join(map(str, jars)), **named}

    @property
    def files(self) -> Any:
        """The server as an Arrow file system; paths start with the bucket."""
        from pyarrow.fs import S3FileSystem

        return S3FileSystem(
            access_key=ACCESS_KEY,
            secret_key=ACCESS_KEY,
            region=REGION,
            scheme="http",
            endpoint_override=self.endpoint,
            allow_bucket_creation=True,
        )
