"""Spark with a real S3 server and a real HDFS, and a trace that the service writes there."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from dovemq.telemetry.schema import COLUMNS
from dovemq.testing.daemons import Daemon, DaemonFailed
from dovemq.testing.hadoop_jars import hadoop_version, hdfs_jars
from dovemq.testing.local_s3 import LocalS3
from dovemq.testing.local_server import LocalServer
from dovemq.testing.maven_jars import JarsMissing
from tests.pipeline.test_cluster import processes_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MESSAGES = 30
NEVER = re.compile("a line that is never written")

pytestmark = pytest.mark.timeout(1_500)


@pytest.mark.parametrize("storage", ["s3", "hdfs"])
def test_spark_reads_back_what_it_has_written(
    spark: "SparkSession", storage: str, request: pytest.FixtureRequest
) -> None:
    uri = request.getfixturevalue(storage).spark_uri("tables/numbers")
    spark.range(1_000).write.parquet(uri)
    found = spark.read.schema("id bigint").parquet(uri)
    assert found.selectExpr("count(*) AS rows", "sum(id) AS total").collect() == [(1_000, 499_500)]


def test_spark_reads_a_trace_that_a_server_has_written_to_s3(
    spark: "SparkSession", s3: LocalS3, tmp_path: Path
) -> None:
    args = ["--trace", s3.uri("served/trace")]
    with LocalServer(tmp_path / "data", args=args, env=s3.env) as server:
        sqs = boto3.client("sqs", **server.boto3_kwargs)
        url = sqs.create_queue(QueueName="jobs")["QueueUrl"]
        for number in range(MESSAGES):
            sqs.send_message(QueueUrl=url, MessageBody=str(number))
        sqs.close()
        assert server.stop() == 0
    trace = spark.read.parquet(s3.spark_uri("served/trace"))
    assert trace.columns == [column.name for column in COLUMNS]
    sent = trace.where("event = 'sent'").selectExpr("queue", "send_seq").distinct().collect()
    assert len(sent) == MESSAGES
    assert {row["queue"] for row in sent} == {"000000000000/jobs"}


def test_stopped_server_leaves_no_process_and_can_be_started_again(tmp_path: Path) -> None:
    server = LocalS3(tmp_path)
    for _ in range(2):
        with server:
            assert processes_in(tmp_path)
            assert server.files.get_file_info(server.bucket).is_file is False
        assert not processes_in(tmp_path)


def test_program_that_ends_at_once_is_reported_with_its_log(tmp_path: Path) -> None:
    daemon = Daemon(("/bin/sh", "-c", "echo no room >&2"), os.environ, tmp_path / "part.log")
    with pytest.raises(DaemonFailed, match="part did not start:\nno room"):
        daemon.await_line(NEVER)
    daemon.kill()


def test_missing_maven_is_reported_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JarsMissing, match="apt-get install maven"):
        hdfs_jars(tmp_path / "cache")


def test_failed_fetch_is_reported_and_leaves_no_folder_that_looks_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maven = tmp_path / "mvn"
    maven.write_text("#!/bin/sh\necho cannot be reached\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    with pytest.raises(JarsMissing, match="cannot be reached"):
        hdfs_jars(tmp_path / "cache")
    assert not (tmp_path / "cache" / f"hdfs-{hadoop_version()}").exists()
