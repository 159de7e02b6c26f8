"""No secret appears in logs, traces or answers while a server is loaded and attacked."""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import apsw
import pyarrow
import pyarrow.parquet
import pytest

from dovemq.cli import build_parser
from dovemq.client import AdminClient, SqsClient
from dovemq.core.access import AccessKey
from dovemq.testing.local_server import LocalServer
from tests.faults.mixed_clients import QUEUE, MixedClients
from tests.faults.searching import KEPT, Search
from tests.server.secured import Pair

BODY = "body-marker-9f2c71d4"
PASSWORD = "password-marker-51e0"
WRONG_PASSWORD = "wrong-password-marker-7a"
ROUNDS = 12
FAILURES_MAX = 100
SHORT = 32
"""Shorter lines of a key could appear in a text by chance."""


class PrintingServer(LocalServer):
    def printed(self) -> bytes:
        """The output after its first line."""
        assert self._process is not None
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        return self._process.stdout.read() or b""


class Attacked:
    """A server over TLS with a trace and all its logs, and what its clients know of it."""

    def __init__(self, folder: Path) -> None:
        self.pair = Pair(folder)
        self.bundle = folder / "authority.pem"
        self.bundle.write_bytes(self.pair.authority.cert_pem.bytes())
        self.trace = folder / "trace"
        self.printed = b""
        self.in_processes: list[str] = []
        self.secrets: dict[str, str | bytes] = {
            "the body of a message": BODY,
            "a password": PASSWORD,
            "a wrong password": WRONG_PASSWORD,
        }
        self.answers: list[bytes] = []
        self.server = PrintingServer(
            folder / "data",
            args=[
                *("--tls-certificate", str(self.pair.certificate)),
                *("--tls-key", str(self.pair.key)),
                *("--failures-max", str(FAILURES_MAX)),
                *("--log-level", "debug", "--log-format", "json", "--log-requests"),
                *("--trace", str(self.trace), "--metrics-open"),
            ],
        )

    async def live_through(self) -> None:
        root = self.server.access_key
        self.secrets["the root secret"] = root.secret
        async with AdminClient(self.server.admin_url, root, ca_bundle=self.bundle) as admin:
            key = await self._account(admin)
            # Both keys are known before the address of all these clients is refused.
            for each in (key, root):
                async with self._client(each) as client:
                    await client.create_queue(QUEUE, {}, {})
            for each in (key, root):
                await self._mixed_clients(each)
            await self._receipts(key)
        self._logins()
        self._password_by_command()

    def _client(self, key: AccessKey) -> SqsClient:
        return SqsClient(self.server.endpoint_url, key, ca_bundle=self.bundle)

    async def _account(self, admin: AdminClient) -> AccessKey:
        """Make an account with a role and a password, and rotate its first key."""
        account = await admin.add_account("alice", {"role": "viewer"})
        number: str = account["number"]
        await admin.set_password(number, PASSWORD)
        first = await admin.add_credential(number)
        second = await admin.rotate_credential(number, first["key_id"], 3_600_000)
        self.secrets["a rotated secret"] = first["secret"]
        self.secrets["an account's secret"] = second["secret"]
        self.answers.append(json.dumps([await admin.accounts(), await admin.audit()]).encode())
        return AccessKey(second["key_id"], second["secret"], number)

    async def _mixed_clients(self, key: AccessKey) -> None:
        clients = MixedClients(self.server.endpoint_url, self.bundle, BODY)
        await clients.all_kinds(key, ROUNDS)
        await clients.close()
        refused = [answer for answer in clients.answers if answer.status != 200]
        assert len(refused) > ROUNDS
        assert any(answer.status == 200 for answer in clients.answers)
        self.answers += [str(answer.headers).encode() + answer.body for answer in refused]
        for number, signature in enumerate(clients.signatures):
            self.secrets[f"signature {number} under {key.key_id}"] = signature

    async def _receipts(self, key: AccessKey) -> None:
        async with self._client(key) as client:
            for message in await client.receive(QUEUE, 10):
                self.secrets["a receipt"] = message.receipt_handle
                await client.settle(QUEUE, message.receipt_handle)

    def _logins(self) -> None:
        token = json.loads(self._login({"account": "alice", "password": PASSWORD}))["token"]
        self.secrets["the token of a session"] = token
        for account, password in (
            ("alice", WRONG_PASSWORD),
            (PASSWORD, "typed into the wrong field"),
            (WRONG_PASSWORD, WRONG_PASSWORD),
        ):
            self.answers.append(self._login({"account": account, "password": password}))
        for wrong in (token + "x", PASSWORD):
            self.answers.append(self._asked("/v1/queues", b"", f"Bearer {wrong}"))
        self.answers.append(self._asked(f"/v1/queues?prefix={PASSWORD}&token={token}", b""))
        self.answers.append(self._asked("/metrics", b""))

    def _login(self, body: dict[str, str]) -> bytes:
        return self._asked("/v1/sessions", json.dumps(body).encode())

    def _asked(self, path: str, body: bytes, authorization: str = "") -> bytes:
        headers = {"Authorization": authorization} if authorization else {}
        request = urllib.request.Request(
            self.server.admin_url + path,
            body or None,
            {**headers, "Content-Type": "application/json"},
        )
        trust = ssl.create_default_context(cafile=self.bundle)
        try:
            with urllib.request.urlopen(request, context=trust) as answer:
                said: bytes = answer.read()
        except urllib.error.HTTPError as error:
            with contextlib.closing(error):
                said = error.read()
        return said

    def _password_by_command(self) -> None:
        ran = subprocess.run(
            [sys.executable, "-m", "dovemq", "account", "password", "alice"],
            input=PASSWORD + "\n",
            env={**os.environ, **self.server.env, "AWS_CA_BUNDLE": str(self.bundle)},
            text=True,
            check=True,
            capture_output=True,
        )
        self.answers.append((ran.stdout + ran.stderr).encode())

    def renew_and_break(self) -> None:
        """Both keys are secrets; the second is cut, so that reading it fails."""
        self._remember_key()
        self.pair.renew()
        self._remember_key()
        text = self.pair.key.read_text()
        self.pair.key.write_text(text[: len(text) // 2])
        self.server.signal(signal.SIGHUP)

    def _remember_key(self) -> None:
        for number, line in enumerate(self.pair.key.read_text().splitlines()):
            if len(line) >= SHORT and not line.startswith("-"):
                self.secrets[f"line {number} of a TLS key, {len(self.secrets)}"] = line

    def read_output(self) -> None:
        """The output after its first line, and the secret of the store."""
        self.printed = self.server.printed()
        database = apsw.Connection(
            str(self.server.data / "dovemq.db"), flags=apsw.SQLITE_OPEN_READONLY
        )
        with contextlib.closing(database):
            rows = database.execute("SELECT value FROM meta WHERE key = 'receipt_key'").fetchall()
        (kept,) = rows[0]
        assert isinstance(kept, bytes)
        self.secrets["the key of receipts"] = kept


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    made = Attacked(tmp_path_factory.mktemp("attacked"))
    with made.server:
        asyncio.run(made.live_through())
        made.renew_and_break()
        made.read_output()
        made.in_processes = Search(made.secrets).in_processes(made.server.pid)
    # Now its trace is complete.
    return made


@pytest.fixture
def search(attacked: Attacked) -> Search:
    return Search(attacked.secrets)


def test_no_secret_is_in_the_log(attacked: Attacked, search: Search) -> None:
    log = attacked.server.log.read_text()
    assert "failed signatures" in log
    assert "previous certificate" in log
    assert not search.in_file(attacked.server.log)
    assert not search.found("what it printed", attacked.printed)


def test_no_secret_is_in_what_the_server_writes(attacked: Attacked, search: Search) -> None:
    assert (attacked.server.data / "audit.jsonl").stat().st_size
    assert not search.in_directory(attacked.server.data)


def test_files_that_keep_secrets_are_closed_to_others(attacked: Attacked) -> None:
    kept = [path for path in attacked.server.data.iterdir() if path.name.startswith(KEPT)]
    assert len(kept) >= len(KEPT)
    assert not [path.name for path in kept if path.stat().st_mode & 0o077]


def test_no_secret_is_in_the_trace(attacked: Attacked, search: Search) -> None:
    files = list(attacked.trace.glob("*.parquet"))
    events = {
        event
        for path in files
        for event in pyarrow.parquet.read_table(path, columns=["event"])["event"].to_pylist()
    }
    assert {"sent", "leased", "settled"} <= events
    assert not search.in_directory(attacked.trace)


def test_no_secret_is_in_the_process_list(attacked: Attacked) -> None:
    assert not attacked.in_processes


def test_no_secret_is_in_an_answer_that_refuses(attacked: Attacked, search: Search) -> None:
    assert len(attacked.answers) > 2 * ROUNDS
    found = [line for answer in attacked.answers for line in search.found("an answer", answer)]
    # Whoever gave a receipt is told which one was refused, as SQS does.
    assert not [line for line in set(found) if not line.startswith("a receipt")]


def test_planted_secret_is_found_in_each_place(attacked: Attacked, tmp_path: Path) -> None:
    """Without this test the others would also pass if nothing were ever found."""
    for name, secret in attacked.secrets.items():
        search = Search({name: secret})
        text = secret if isinstance(secret, str) else secret.hex()
        log = tmp_path / "log"
        shutil.copy(attacked.server.log, log)
        with log.open("a") as stream:
            stream.write(f"DEBUG asked with {text!r}\n")
        assert search.in_file(log) == [f"{name} in {log}"]
        table = pyarrow.table({"queue": ["jobs", f"a {text} b"]})
        pyarrow.parquet.write_table(table, tmp_path / "trace.parquet", compression="zstd")
        assert search.in_directory(tmp_path) == [
            f"{name} in {log}",
            f"{name} in {tmp_path / 'trace.parquet'}",
        ]
    planted = subprocess.Popen(
        [sys.executable, "-c", "input()", BODY], stdin=subprocess.PIPE, env={"KEY": PASSWORD}
    )
    with planted:
        found = Search({"body": BODY, "password": PASSWORD}).in_processes(planted.pid)
        assert sorted(line.split()[0] for line in found) == ["body", "password"]
        planted.communicate(b"\n")


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _options(child)
        else:
            yield parser.prog, action


def test_no_command_takes_a_secret_as_an_argument() -> None:
    # Tokens, in the plural, are those of a Petri net; a file of a secret is named by its path.
    secret = re.compile("(secret|password|token(?!s)|passphrase|credential)(?!.file)")
    taken = []
    for command, action in _options(build_parser()):
        names = [*action.option_strings, action.dest, str(action.metavar or "")]
        if action.nargs != 0 and any(secret.search(name.lower()) for name in names):
            taken.append(f"{command} {names[0]}")
    assert not taken
