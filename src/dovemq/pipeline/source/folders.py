"""Folders of staged messages, which the driver and all executors see.

A folder must be able to create a file only if it does not exist: this is how two attempts of a task
agree. Locations without this are refused:

- `hdfs:`: PyArrow replaces an existing file, so the second attempt would win.
- Object stores other than S3: PyArrow has no conditional write. For S3 boto3 has one; it is checked
  with the server before the first use.
"""

import errno
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from dovemq.pipeline.durable import PARTIAL, lock_of, publish_first, write_durably
from dovemq.pipeline.source.errors import OptionRefused, StagingBusy, StagingUnfit

CONFLICTS_MAX: Final = 10
"""The most repetitions of a conditional write to S3 that conflicts with another."""
CLAIM_SECONDS_MAX: Final = 2.0
"""The interval in which the holder of an S3 folder renews its claim."""
_LOCKS_MAX: Final = 60
_LOCK_SECONDS: Final = 0.5
_WATCHES_MAX: Final = 3
_WATCH_SECONDS: Final = 10.0
_CLAIM: Final = "claim-"
_RELEASED: Final = b"released"
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES})

Content = bytes | memoryview
Pause = Callable[[float], None]


class StagingFolder(Protocol):
    """A folder whose writes are complete and durable when they return, and visible to later
    reads."""

    location: str

    def names(self) -> list[str]: ...

    def read(self, name: str) -> pa.Buffer | None:
        """Returns None if there is no such name."""

    def write(self, name: str, content: Content) -> None:
        """Writes a file, replacing an existing one."""

    def publish(self, name: str, content: Content) -> bool:
        """Writes a file unless it exists. Returns False if another was first."""

    def remove(self, name: str) -> None: ...

    def claim(self) -> None:
        """Makes this process the only one that plans and settles here, or raises StagingBusy.

        Waits a little, because the process of a stopped query may live longer than the query.
        """

    def keep_claim(self) -> None:
        """Renews the claim, at least every CLAIM_SECONDS_MAX; raises StagingBusy if it was lost."""

    def close(self) -> None: ...


def staging_folder(location: str) -> StagingFolder:
    """Opens an absolute path, or a `file:`, `s3:` or `s3a:` URI."""
    parts = urlsplit(location)
    if parts.scheme in ("s3", "s3a"):
        return S3StagingFolder(f"s3://{parts.netloc}{parts.path}")
    if parts.scheme == "hdfs":
        found = "is on HDFS, where PyArrow replaces a file that exists instead of refusing"
    elif parts.scheme not in ("", "file"):
        found = f"has the scheme {parts.scheme}:, which has no write that refuses an existing file"
    else:
        folder = Path(unquote(parts.path) if parts.scheme else location)
        if folder.is_absolute():
            return LocalStagingFolder(folder)
        found = "is not an absolute path, and tasks run elsewhere"
    needed = "give an absolute path on a mounted file system, or s3://bucket/folder"
    raise OptionRefused("stagingLocation", f"{found}: {needed}")


class LocalStagingFolder:
    """A directory of a local or mounted file system with hard links."""

    def __init__(self, folder: Path, pause: Pause = time.sleep) -> None:
        self.location = str(folder)
        self._folder = folder
        self._pause = pause
        self._lock: int | None = None

    def names(self) -> list[str]:
        return sorted(path.name for path in self._folder.iterdir())

    def read(self, name: str) -> pa.Buffer | None:
        try:
            with pa.memory_map(str(self._folder / name)) as file:
                return file.read_buffer()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: Content) -> None:
        write_durably(self._folder / name, lambda partial: partial.write_bytes(content))

    def publish(self, name: str, content: Content) -> bool:
        partial = self._folder / f"{name}.{secrets.token_hex(8)}{PARTIAL}"
        partial.write_bytes(content)
        try:
            return publish_first(partial, self._folder / name)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            found = f"a hard link failed ({error.strerror}), which the exclusive write needs"
            raise StagingUnfit(self.location, found) from None

    def remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def claim(self) -> None:
        """Takes a lock, which ends with the process."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for _ in range(_LOCKS_MAX):
            self._lock = lock_of(self._folder)
            if self._lock is not None:
                return
            self._pause(_LOCK_SECONDS)
        raise StagingBusy(self.location)

    def keep_claim(self) -> None:
        """A lock needs no renewal."""

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class S3StagingFolder:
    """A prefix of a bucket; boto3 finds its endpoint and keys."""

    def __init__(self, location: str, pause: Pause = time.sleep) -> None:
        self.location = location
        self._pause = pause
        self._claim: str | None = None
        parts = urlsplit(location)
        self._bucket = parts.netloc
        self._prefix = f"{parts.path.strip('/')}/".removeprefix("/")
        try:
            import boto3
        except ModuleNotFoundError:
            found = "S3 needs boto3 on the driver and all executors (pip install boto3)"
            raise StagingUnfit(location, found) from None
        self.client: Any = boto3.client("s3")

    def names(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=self._prefix
        )
        found = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return [key.removeprefix(self._prefix) for key in found]

    def read(self, name: str) -> pa.Buffer | None:
        try:
            answer = self.client.get_object(**self._key(name))
        except self.client.exceptions.NoSuchKey:
            return None
        return pa.py_buffer(answer["Body"].read())

    def write(self, name: str, content: Content) -> None:
        self.client.put_object(**self._key(name), Body=bytes(content))

    def publish(self, name: str, content: Content) -> bool:
        attempt = {"attempt": secrets.token_hex(16)}
        for _ in range(CONFLICTS_MAX):
            try:
                self.client.put_object(
                    **self._key(name), Body=bytes(content), IfNoneMatch="*", Metadata=attempt
                )
            except self.client.exceptions.ClientError as error:
                code = error.response["Error"]["Code"]
                if code == "ConditionalRequestConflict":
                    continue
                if code != "PreconditionFailed":
                    raise
                # boto3 may have repeated a request whose answer was lost.
                return bool(self.client.head_object(**self._key(name))["Metadata"] == attempt)
            return True
        raise StagingUnfit(self.location, f"{name} had {CONFLICTS_MAX} conflicting writes")

    def remove(self, name: str) -> None:
        self.client.delete_object(**self._key(name))

    def claim(self) -> None:
        """Takes a claim newer than all others.

        A holder that does not renew its claim counts as dead; if it lives, it finds its claim lost.
        """
        for _ in range(_WATCHES_MAX):
            older = self._claims()
            number = int(older[-1].removeprefix(_CLAIM)) + 1 if older else 1
            name = f"{_CLAIM}{number:012}"
            if (not older or self._is_dead(older[-1])) and self.publish(name, b""):
                break
        else:
            raise StagingBusy(self.location)
        if self.publish(name, b"again"):
            found = "its server ignores If-None-Match, so a file could be replaced"
            raise StagingUnfit(self.location, found)
        self._claim = name
        for each in older:
            self.remove(each)

    def keep_claim(self) -> None:
        if self._claim is None or self._claims()[-1:] != [self._claim]:
            raise StagingBusy(self.location)
        self.write(self._claim, secrets.token_bytes(16))

    def close(self) -> None:
        if self._claim is not None:
            self.write(self._claim, _RELEASED)
            self._claim = None
        self.client.close()

    def _is_dead(self, claim: str) -> bool:
        before = self.read(claim)
        if before is not None and before.to_pybytes() == _RELEASED:
            return True
        self._pause(_WATCH_SECONDS)
        return self.read(claim) == before

    def _claims(self) -> list[str]:
        return sorted(name for name in self.names() if name.startswith(_CLAIM))

    def _key(self, name: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._prefix + name}
