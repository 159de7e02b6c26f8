"""Makes a data directory of each schema version: `python -m tools.data_directories`.

A directory is filled by the code that first or last wrote its version, taken from the history, and
is kept as `tests/fixtures/data/schema-N.tar.xz`. Versions that have a file are left alone: what an
old release wrote cannot be written better today. `tests/unit/test_sqlite_releases.py` opens each.
"""

import argparse
import contextlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import boto3

from dovemq.stores.sqlite.schema import load_steps
from dovemq.testing.local_server import LocalServer

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "tests" / "fixtures" / "data"

COMMITS: Final[Mapping[int, str]] = {
    1: "c3bc355a900f",
    2: "7b8571a9e609",
    3: "3773cc464cfb",
    4: "d3fbdae8ec10",
}
"""A commit that wrote each version of the schema but the present one, which this tree writes."""

ACCOUNTS_SINCE: Final = 3
JOBS_SINCE: Final = 5
DAY: Final = 86_400
FORGOTTEN: Final = frozenset(("reserve", "lock"))
"""Files of a data directory that hold nothing: each start makes them again."""

WORKFLOW: Final = """\
[jobs.shop]
path = ["A", "B"]
"""
JOB: Final = '{"order": 1}'


def archive_of(version: int) -> Path:
    return FOLDER / f"schema-{version}.tar.xz"


def fill(server: LocalServer, version: int, source: Path) -> None:
    """Puts the same into every version: what is visible, hidden for a while, leased and dead."""
    sqs = boto3.client("sqs", **server.boto3_kwargs)
    _fill_letters(sqs)
    _fill_orders(sqs)
    _fill_later(sqs)
    if version >= ACCOUNTS_SINCE:
        _fill_account(server, source)
    if version >= JOBS_SINCE:
        _fill_jobs(server, source)


def _fill_letters(sqs: Any) -> None:
    """A standard queue with dead letters: one is moved, one stays leased for twelve hours."""
    _queue(sqs, "dead")
    redrive = '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", %s}'
    url = _queue(sqs, "letters", RedrivePolicy=redrive % '"maxReceiveCount": 2')
    sqs.tag_queue(QueueUrl=url, Tags={"team": "post"})
    sqs.send_message(QueueUrl=url, MessageBody="lost")
    for _ in range(3):
        sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)
    sqs.send_message(QueueUrl=url, MessageBody="leased")
    sqs.receive_message(QueueUrl=url, VisibilityTimeout=DAY // 2)
    sqs.send_message(QueueUrl=url, MessageBody="plain")
    sqs.send_message(QueueUrl=url, MessageBody="large " * 20_000)
    sqs.send_message(
        QueueUrl=url,
        MessageBody="with attributes",
        MessageAttributes={
            "colour": {"DataType": "String", "StringValue": "blue"},
            "weight": {"DataType": "Number", "StringValue": "12"},
            "seal": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        },
    )
    sqs.send_message(QueueUrl=url, MessageBody="delayed", DelaySeconds=900)


def _fill_orders(sqs: Any) -> None:
    """A FIFO queue whose group `a` waits for its first message, which is leased."""
    url = _queue(sqs, "orders.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    sqs.send_message(QueueUrl=url, MessageBody="a1", MessageGroupId="a")
    sqs.receive_message(QueueUrl=url, VisibilityTimeout=DAY // 2)
    for body in ("a2", "b1", "a3", "b2"):
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=body[0])


def _fill_later(sqs: Any) -> None:
    url = _queue(sqs, "later", LongDelay="true")
    sqs.send_message(QueueUrl=url, MessageBody="in ten days", DelaySeconds=10 * DAY)


def _queue(sqs: Any, name: str, **attributes: str) -> str:
    kept = {"MessageRetentionPeriod": str(14 * DAY), **attributes}
    return str(sqs.create_queue(QueueName=name, Attributes=kept)["QueueUrl"])


def _fill_account(server: LocalServer, source: Path) -> None:
    add = ("account", "add", "billing", "--number", "111122223333", "--queues-max", "10")
    _command(server, source, *add, "--role", "viewer")
    _command(server, source, "account", "password", "billing", given="correct horse battery")


def _fill_jobs(server: LocalServer, source: Path) -> None:
    specification = server.data.with_name("shop.toml")
    specification.write_text(WORKFLOW)
    _command(server, source, "workflow", "put", str(specification))
    _command(server, source, "workflow", "submit", "shop", "--input", JOB)


def _command(server: LocalServer, source: Path, *arguments: str, given: str = "") -> None:
    command = [sys.executable, "-m", "dovemq", *arguments]
    env = {**_environment(source), **server.env}
    subprocess.run(command, env=env, input=given, text=True, check=True, capture_output=True)


def _environment(source: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(source), "HOME": str(source)}


@contextlib.contextmanager
def _source_of(version: int) -> Iterator[Path]:
    """The folder of the package that writes the version."""
    if version not in COMMITS:
        yield ROOT / "src"
        return
    with tempfile.TemporaryDirectory() as place:
        archive = ["git", "archive", COMMITS[version], "src"]
        packed = subprocess.run(archive, cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "--extract", "--directory", place], input=packed, check=True)
        yield Path(place) / "src"


def make(version: int) -> None:
    """Serve an empty directory by the code of a version, fill it, stop it, and pack it."""
    with _source_of(version) as source, tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data"
        with LocalServer(data, env=_environment(source)) as server:
            fill(server, version, source)
        with tarfile.open(archive_of(version), "w:xz", preset=9) as packed:
            for path in sorted(data.iterdir()):
                if path.name not in FORGOTTEN:
                    packed.add(path, arcname=path.name, filter=_without_owner)


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def main() -> None:
    parser = argparse.ArgumentParser(description="make the data directories that are missing")
    parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for version in range(1, len(load_steps()) + 1):
        if not archive_of(version).exists():
            make(version)
            size = archive_of(version).stat().st_size
            print(f"{archive_of(version).relative_to(ROOT)}: {size:,} bytes")


if __name__ == "__main__":
    main()
