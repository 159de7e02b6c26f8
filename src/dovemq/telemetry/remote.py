"""Files of a trace on another file system, through Arrow: S3, HDFS, Google's and Azure's storage.

A file is made in memory and sent as a whole: an object store would publish a half-written file when
it is closed. HDFS shows files while they are written; there a file first has a name that Hadoop's
readers ignore. Arrow finds keys in the environment or on the machine.
"""

import contextlib
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa
from pyarrow import fs

from dovemq.core.errors import DoveError
from dovemq.core.locations import OBJECT_STORES, Location
from dovemq.telemetry.folders import PARTIAL, PREFIX, SUFFIX, Folder, LocalFolder

FILE_BYTES_MAX: Final = 64 << 20
"""The size in memory at which a file is sent."""
FILES_PER_LISTING: Final = 64
"""A folder is listed again after this many files, to find those of other front ends."""
REMOVALS_MAX: Final = 100
ATTEMPTS_MAX: Final = 3
"""Attempts of one request to S3; each takes about 3 seconds if the server does not answer."""
REASON_CHARACTERS_MAX: Final = 300
_S3_OPTIONS: Final = ("endpoint_override", "region", "scheme", "tls_ca_file_path")


class FolderUnusable(DoveError):
    def __init__(self, location: Location, reason: str) -> None:
        super().__init__(f"{location} cannot be used ({reason})")


def open_folder(location: Location) -> Folder:
    """The folder, ready for writing. A directory is created; a bucket must exist."""
    try:
        if location.directory is not None:
            return LocalFolder(location.directory)
        return _opened(location)
    except (OSError, pa.ArrowException, ImportError) as error:
        text = getattr(error, "strerror", None) or str(error)
        reason = text.partition("\n")[0][:REASON_CHARACTERS_MAX]
        raise FolderUnusable(location, reason) from None


def _opened(location: Location) -> "RemoteFolder":
    files, path = fs.FileSystem.from_uri(location.text)
    if location.scheme == "s3":
        files = _s3_with_few_attempts(location, files)
    if location.scheme not in OBJECT_STORES:
        files.create_dir(path, recursive=True)
        return RemoteFolder(files, path, shows_growing_files=True)
    bucket = path.partition("/")[0]
    if files.get_file_info(bucket).type is fs.FileType.NotFound:
        raise FolderUnusable(location, f"there is no bucket {bucket}")
    return RemoteFolder(files, path, shows_growing_files=False)


def _s3_with_few_attempts(location: Location, found: Any) -> Any:
    """The same file system with fewer attempts: Arrow's take 99 seconds on a silent server."""
    options = dict(parse_qsl(urlsplit(location.text).query))
    for name in options:
        if name not in _S3_OPTIONS:
            known = ", ".join(_S3_OPTIONS)
            raise FolderUnusable(location, f"{name} is none of the options {known}")
    options["region"] = found.region
    attempts = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS_MAX)
    return fs.S3FileSystem(**options, retry_strategy=attempts)


class RemoteFolder:
    """A folder that lists its files first at a removal, then after `FILES_PER_LISTING` files."""

    removals_max: Final = REMOVALS_MAX

    def __init__(self, files: Any, path: str, *, shows_growing_files: bool) -> None:
        self._files = files
        self._path = path.rstrip("/")
        self._shows_growing_files = shows_growing_files
        self._known: dict[str, int] = {}
        self._files_until_listing = 0

    def begin(self, name: str) -> "RemotePendingFile":
        return RemotePendingFile(self, name)

    def whole_files(self) -> list[tuple[str, int]]:
        if self._files_until_listing <= 0:
            self._known = self._listed()
            self._files_until_listing = FILES_PER_LISTING
        return list(self._known.items())

    def remove(self, name: str) -> None:
        self._known.pop(name, None)
        with contextlib.suppress(FileNotFoundError):
            self._files.delete_file(f"{self._path}/{name}")

    def put(self, name: str, contents: Any) -> None:
        path = f"{self._path}/{name}"
        if self._shows_growing_files:
            self._put_hidden(path, f"{self._path}/.{name}{PARTIAL}", contents)
        else:
            self._write(path, contents)
        self._known[name] = contents.size
        self._files_until_listing -= 1

    def _put_hidden(self, path: str, growing: str, contents: Any) -> None:
        try:
            self._write(growing, contents)
            self._files.move(growing, path)
        except OSError:
            with contextlib.suppress(OSError):
                self._files.delete_file(growing)
            raise

    def _write(self, path: str, contents: Any) -> None:
        with self._files.open_output_stream(path, compression=None) as stream:
            stream.write(contents)

    def _listed(self) -> dict[str, int]:
        # Names begin with the time.
        found = self._files.get_file_info(fs.FileSelector(self._path, allow_not_found=True))
        whole = [
            (each.base_name, each.size)
            for each in found
            if each.is_file and each.base_name.startswith(PREFIX) and each.extension == SUFFIX[1:]
        ]
        return dict(sorted(whole))


class RemotePendingFile:
    def __init__(self, folder: RemoteFolder, name: str) -> None:
        self.sink = pa.BufferOutputStream()
        self._folder = folder
        self._name = name

    @property
    def full(self) -> bool:
        return bool(self.sink.tell() >= FILE_BYTES_MAX)

    def publish(self) -> None:
        self._folder.put(self._name, self.sink.getvalue())

    def discard(self) -> None:
        """Nothing was published, so there is nothing to remove."""
