"""Queues through Spark beside a plain boto3 loop, in the same run.

    python -m bench.source [--messages 50000] [--bytes 100] [--json]

Sends to a standard queue, then receives and deletes, once by one boto3 client in a loop of batches
of ten, and by Spark on four threads: a DataFrame written to the queue, and a stream read into
nothing by `availableNow`, with one receiver and with four. Spark's session and its first, small
query are over before its clock starts. CPU is that of the clients: of this process for boto3, of
Spark's JVM and its Python processes for Spark. The server has a process and the embedded store of
its own.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import boto3
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from bench.tables import Row, parser_of, show
from dovemq.pipeline import datasource
from dovemq.pipeline.session import SparkPlan, spark_session
from dovemq.testing.local_server import LocalServer

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_WARM_UP: Final = 2_000


class Bench:
    def __init__(self, server: LocalServer, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._boto: Any = boto3.client("sqs", **server.boto3_kwargs)
        key = server.access_key
        self._options = {
            "endpointUrl": server.endpoint_url,
            "accessKeyId": key.key_id,
            "secretAccessKey": key.secret,
        }

    def rows(self, count: int, body_bytes: int) -> Iterator[Row]:
        self._stream("warm", self._send_by_spark("warm", _WARM_UP, body_bytes), 1)
        body = "x" * body_bytes
        yield _measured("boto3 send", count, lambda: self._send("plain", count, body))
        yield _measured("boto3 receive, delete", count, lambda: self._receive("plain", count))
        yield _measured(
            "Spark write", count, lambda: self._send_by_spark("spark", count, len(body))
        )
        yield _measured("Spark stream, 1 receiver", count, lambda: self._stream("spark", count, 1))
        self._send_by_spark("spark4", count, len(body))
        yield _measured("Spark stream, 4", count, lambda: self._stream("spark4", count, 4))

    def _url(self, queue: str) -> str:
        url: str = self._boto.create_queue(QueueName=queue)["QueueUrl"]
        return url

    def _send(self, queue: str, count: int, body: str) -> int:
        url = self._url(queue)
        entries = [{"Id": str(place), "MessageBody": body} for place in range(10)]
        for _ in range(count // 10):
            self._boto.send_message_batch(QueueUrl=url, Entries=entries)
        return count

    def _receive(self, queue: str, count: int) -> int:
        url, found = self._url(queue), 0
        while found < count:
            messages = self._boto.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=10,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            )["Messages"]
            entries = [
                {"Id": str(place), "ReceiptHandle": each["ReceiptHandle"]}
                for place, each in enumerate(messages)
            ]
            self._boto.delete_message_batch(QueueUrl=url, Entries=entries)
            found += len(messages)
        return found

    def _send_by_spark(self, queue: str, count: int, body_bytes: int) -> int:
        self._url(queue)
        rows = self._spark.range(count).select(sf.repeat(sf.lit("x"), body_bytes).alias("body"))
        rows.write.format("dovemq").mode("append").options(**self._options).save(queue)
        return count

    def _stream(self, queue: str, count: int, receivers: int) -> int:
        found: list[int] = []

        def tally(batch: DataFrame, number: int) -> None:
            found.append(batch.agg(sf.count("body")).first()[0])  # type: ignore[index]

        reader = self._spark.readStream.format("dovemq").options(**self._options)
        place = str(self._folder / queue)
        options = {"queue": queue, "stagingLocation": place, "receivers": str(receivers)}
        rows = reader.options(**options).load()
        writer = rows.writeStream.foreachBatch(tally).trigger(availableNow=True)
        writer.start(
            checkpointLocation=str(self._folder / f"{queue}-checkpoint")
        ).awaitTermination()
        if sum(found) != count:
            raise AssertionError(f"{sum(found)} of {count} messages were read")
        return count


def _measured(name: str, count: int, work: Callable[[], int]) -> Row:
    begun, cpu = time.monotonic(), _cpu_seconds()
    work()
    seconds, cpu = time.monotonic() - begun, _cpu_seconds() - cpu
    return {
        "client": name,
        "messages": count,
        "rows/s": count / seconds,
        "CPU us/row": 1e6 * cpu / count,
    }


def _cpu_seconds() -> float:
    """CPU of this process and its descendants without servers, ended ones included."""
    waiting, total = [os.getpid()], 0
    children: dict[int, list[int]] = {}
    stats = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
            command = place.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if b"\0serve\0" not in command:
            pid = int(place.parent.name)
            children.setdefault(int(fields[1]), []).append(pid)
            stats[pid] = sum(map(int, fields[11:15]))
    while waiting:
        pid = waiting.pop()
        total += stats.get(pid, 0)
        waiting += children.get(pid, [])
    return total / _TICKS_PER_SECOND


@contextmanager
def _bench() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with (
            LocalServer(folder / "data") as server,
            spark_session(SparkPlan("local[4]", "1g")) as spark,
        ):
            datasource.register(spark)
            yield Bench(server, spark, folder)


def main() -> None:
    parser = parser_of("source", __doc__)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--bytes", type=int, default=100)
    args = parser.parse_args()
    with _bench() as bench:
        rows = list(bench.rows(args.messages, args.bytes))
    show(rows, as_json=args.json)


if __name__ == "__main__":
    main()
