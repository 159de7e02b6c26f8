"""The lifecycle trace of a real server, read by DuckDB: complete, in order, without contents."""

import asyncio
import base64
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
import uvloop

from bench.load import Access, Connection, Load, Signer, connect, tens
from bench.measured import access_of, create_queue
from dovemq.telemetry.folders import PARTIAL
from dovemq.telemetry.schema import COLUMNS
from dovemq.testing.local_server import LocalServer
from tests.acceptance.documents import blocks
from tests.acceptance.programs import ROOT, clean_environment

MESSAGES = int(os.environ.get("DOVETEST_TRACE", "20000"))
CONNECTIONS = 8
BATCHES_PER_SIGNATURE = 500
RECEIPTS_KEPT = 200
BODY_MARK = "nobody-may-read-this-body"
ATTRIBUTE_MARK = "nobody-may-read-this-attribute"

pytestmark = pytest.mark.timeout(300 + MESSAGES // 500)


class Driver:
    """Sends, receives and deletes by tens; keeps some of the receipts to look for."""

    def __init__(self, access: Access, queue_url: str) -> None:
        self.receipts: list[str] = []
        self._access = access
        self._queue_url = queue_url

    async def run(self, messages: int) -> None:
        connections = await connect(self._access.port, CONNECTIONS)
        batches = messages // 10 // CONNECTIONS
        await asyncio.gather(*(self._work(each, batches) for each in connections))
        for connection in connections:
            connection.close()

    async def _work(self, connection: Connection, batches: int) -> None:
        for start in range(0, batches, BATCHES_PER_SIGNATURE):
            load = Load(Signer(self._access), self._queue_url, 1)
            send = load.request("SendMessageBatch", Entries=_entries())
            for _ in range(min(BATCHES_PER_SIGNATURE, batches - start)):
                await connection.must(send)
                await self._settle(connection, load)

    async def _settle(self, connection: Connection, load: Load) -> None:
        """Ten messages were sent, and nobody takes more than he sent."""
        left = 10
        while left:
            answer = msgspec.json.decode(await connection.must(load.receive_ten))
            receipts = [message["ReceiptHandle"] for message in answer.get("Messages", ())]
            if receipts:
                await connection.must(load.delete_all(receipts))
            if len(self.receipts) < RECEIPTS_KEPT:
                self.receipts += receipts
            left -= len(receipts)


def _entries() -> list[dict[str, Any]]:
    attribute = {"note": {"DataType": "String", "StringValue": ATTRIBUTE_MARK}}
    body = f"{BODY_MARK} " * 8
    return [
        {"Id": str(number), "MessageBody": body, "MessageAttributes": attribute}
        for number in range(10)
    ]


def query(trace: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW trace AS SELECT * FROM '{trace}/*.parquet'")
        return connection.execute(sql).fetchall()


class Traced:
    def __init__(self, trace: Path, driver: Driver, secret: str, status: Any) -> None:
        self.status = status
        self.trace = trace
        self.receipts = driver.receipts
        self.secret = secret


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """A server that was loaded with all messages and has stopped."""
    place = tmp_path_factory.mktemp("traced")
    trace = place / "trace"
    with LocalServer(place / "data", args=["--trace", str(trace)]) as server:
        access = access_of(server)

        async def load() -> Driver:
            driver = Driver(access, await create_queue(access))
            await driver.run(MESSAGES)
            return driver

        driver = uvloop.run(load())
        status = status_of(server)
        server.stop()
    return Traced(trace, driver, access.secret, status)


def status_of(server: LocalServer) -> Any:
    """The state of the trace as the admin API shows it."""
    key = f"{server.access_key.key_id}:{server.access_key.secret}".encode()
    headers = {"Authorization": f"Basic {base64.b64encode(key).decode()}"}
    request = urllib.request.Request(f"{server.admin_url}/v1/traces", headers=headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_admin_api_shows_where_the_trace_is_written(traced: Traced) -> None:
    status = traced.status
    assert (status["on"], status["location"]) == (True, str(traced.trace))
    assert (status["rows_dropped"], status["failing"], status["error"]) == (0, False, None)


def test_every_message_is_sent_leased_and_settled(traced: Traced) -> None:
    [counts] = query(
        traced.trace,
        """
        SELECT count(*), count(*) FILTER (sent = 1 AND leased >= 1 AND settled = 1) FROM (
            SELECT message_id,
                   count(*) FILTER (event = 'sent') AS sent,
                   count(*) FILTER (event = 'leased') AS leased,
                   count(*) FILTER (event = 'settled') AS settled
            FROM trace WHERE event != 'missed' GROUP BY message_id
        )
        """,
    )
    messages = MESSAGES // 10 // CONNECTIONS * 10 * CONNECTIONS
    assert counts == (messages, messages)


def test_times_are_in_order(traced: Traced) -> None:
    [(joined, wrong)] = query(
        traced.trace,
        """
        SELECT count(*), count(*) FILTER (
            NOT (s.at_us <= l.it_us AND l.it_us <= l.ot_us AND l.ot_us <= d.ts_us)
        )
        FROM trace s JOIN trace l USING (message_id) JOIN trace d USING (message_id)
        WHERE s.event = 'sent' AND l.event = 'leased' AND d.event = 'settled'
          AND l.receive_count = d.receive_count
        """,
    )
    assert joined >= MESSAGES // 10 // CONNECTIONS * 10 * CONNECTIONS
    assert wrong == 0


def test_leases_are_numbered_without_gap(traced: Traced) -> None:
    [(least, most, count, different)] = query(
        traced.trace,
        """SELECT min(receive_seq), max(receive_seq), count(*), count(DISTINCT receive_seq)
        FROM trace WHERE event = 'leased'""",
    )
    assert (least, most) == (1, count)
    assert different == count


def test_trace_holds_no_body_attribute_receipt_or_secret(traced: Traced) -> None:
    assert len(traced.receipts) >= 10
    hidden = [BODY_MARK, ATTRIBUTE_MARK, traced.secret, *traced.receipts]
    columns = [column.name for column in COLUMNS if column.form in ("text", "label")]
    # Receipts begin alike: eight characters of one would find any of them.
    starts = {text[:8] for text in hidden}
    reported = query(traced.trace, f"SELECT DISTINCT {', '.join(columns)} FROM trace LIMIT 100000")
    for row in reported:
        shown = " ".join(filter(None, row))
        assert not [start for start in starts if start in shown]
    for file in traced.trace.iterdir():
        raw = file.read_bytes()
        assert not [text for text in hidden if text.encode() in raw]


def test_queries_of_the_documents_run(traced: Traced) -> None:
    scripts = [text for language, text in blocks("docs/how-to/observe.md") if language == "sql"]
    assert len(scripts) == 2
    by_queue, unsettled = (
        query(traced.trace, script.replace("./trace/", f"{traced.trace}/")) for script in scripts
    )
    [(queue, messages, p50_ms, p99_ms)] = by_queue
    assert queue == "000000000000/bench"
    assert messages >= MESSAGES // 10 // CONNECTIONS * 10 * CONNECTIONS
    assert 0 <= p50_ms <= p99_ms
    assert unsettled == []


def test_killed_server_leaves_whole_files_and_the_next_start_tidies_up(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    args = ["--trace", str(trace), "--trace-rotate-seconds", "1"]
    with LocalServer(tmp_path / "data", args=args) as server:
        uvloop.run(_load_until_files(access_of(server), trace))
        server.kill()
        assert list(trace.glob("*" + PARTIAL))
        [(rows,)] = query(trace, "SELECT count(*) FROM trace")
        assert rows > 0
        server.start()
        assert list(trace.glob("*" + PARTIAL)) == []
        assert query(trace, "SELECT count(*) FROM trace") == [(rows,)]


async def _load_until_files(access: Access, trace: Path) -> None:
    load = Load(Signer(access), await create_queue(access), 100)
    (connection,) = await connect(access.port, 1)
    for _ in range(10_000):
        await tens(connection, load, 100)
        if len(list(trace.glob("*.parquet"))) >= 2 and list(trace.glob("*" + PARTIAL)):
            break
    connection.close()
    await asyncio.sleep(0)


def _serve(tmp_path: Path, *args: str, **environment: str) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, "-m", "dovemq", "serve", "--port", "0", "--data", tmp_path / "d", *args],
        env={**clean_environment(tmp_path), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ended.returncode, ended.stderr


def test_trace_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    missing = "raise ModuleNotFoundError('No module named pyarrow', name='pyarrow')"
    (shadow / "pyarrow.py").write_text(missing)
    path = os.pathsep.join([str(shadow), os.environ.get("PYTHONPATH", "")])
    code, said = _serve(tmp_path, "--trace", str(tmp_path / "t"), PYTHONPATH=path)
    assert code == 2
    assert "make setup EXTRAS=trace" in said
    assert "Traceback" not in said


def test_trace_that_has_no_place_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    path = os.environ.get("PYTHONPATH", "")
    code, said = _serve(tmp_path, "--trace", str(tmp_path / "file" / "t"), PYTHONPATH=path)
    assert code == 2
    assert "--trace" in said
    assert "Traceback" not in said
