"""Queues of a real server, read and written by a real Spark."""

import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from dovemq.pipeline import datasource
from dovemq.sqs.shapes import AttributeValue, SendMessageRequest
from tests.pipeline.source.queue_world import FIFO
from tests.pipeline.source.spark_world import SparkWorld

pytestmark = pytest.mark.timeout(1_500)

GUIDE = Path(__file__).parents[3] / "docs/how-to/spark-queues.md"
ATTRIBUTES = {
    "n": AttributeValue("Number.int", "1"),
    "b": AttributeValue("Binary", binary_value=b"\x00\xff"),
}


def _numbered(world: SparkWorld, count: int) -> DataFrame:
    return world.spark.range(count).select(sf.format_string("body %d", "id").alias("body"))


def _save(rows: DataFrame, world: SparkWorld, queue: str, **options: str) -> None:
    rows.write.format("dovemq").mode("append").options(**world.options, **options).save(queue)


def _load(world: SparkWorld, queue: str, **options: str) -> DataFrame:
    return world.spark.read.format("dovemq").options(**world.options, **options).load(queue)


def test_a_written_table_is_in_the_queue_and_a_peek_leaves_it_there(world: SparkWorld) -> None:
    queue = world.new_queue()
    _save(_numbered(world, 1_234), world, queue)
    expected = sorted(f"body {number}" for number in range(1_234))
    assert sorted(world.bodies(queue)) == expected
    rows = _load(world, queue).select("body", "receive_count").collect()
    assert sorted(row.body for row in rows) == expected
    assert {row.receive_count for row in rows} == {0}
    assert _load(world, queue, maxMessages="1001", readers="1").count() == 1_001
    assert world.left(queue) == 1_234


def test_a_peek_is_read_by_several_tasks_each_message_once(world: SparkWorld) -> None:
    queue = world.new_queue()
    sent = world.fill(queue, 3_500)
    rows = _load(world, queue, readers="3").withColumn("task", sf.spark_partition_id())
    found = rows.select("body", "task").collect()
    assert sorted(row.body for row in found) == sorted(sent)
    assert {row.task for row in found} == {0, 1, 2}
    assert _load(world, queue, readers="3", maxMessages="1000").count() == 1_000
    assert _load(world, world.new_queue(), readers="3").count() == 0


def test_messages_pass_a_stream_with_all_that_they_have(world: SparkWorld) -> None:
    source, target = world.new_queue(), world.new_queue(fifo=True)
    world.client.send(
        source,
        SendMessageRequest(
            message_body="héllo", message_attributes=ATTRIBUTES, message_group_id="g"
        ),
    )
    world.run(source, lambda: world.stream(source), world.into_queue(target))
    (message,) = world.client.receive(target, 10)
    assert message.body == "héllo"
    assert message.message_attributes == ATTRIBUTES
    assert message.attributes["MessageGroupId"] == "g"
    assert message.attributes["MessageDeduplicationId"].endswith("/0/0/0")


def test_available_now_reads_all_messages_in_batches_of_the_limit(world: SparkWorld) -> None:
    queue = world.new_queue()
    sent = world.fill(queue, 250)
    seen: list[list[str]] = []

    def keep(batch: DataFrame, number: int) -> None:
        seen.append([row.body for row in batch.collect()])

    rows = world.stream(queue, maxMessagesPerBatch="100", receivers="2").select("body")
    query = (
        rows.writeStream.foreachBatch(keep)
        .trigger(availableNow=True)
        .option("checkpointLocation", str(world.folder / "checkpoint"))
        .start()
    )
    query.awaitTermination()
    assert [len(batch) for batch in seen] == [100, 100, 50]
    assert sorted(body for batch in seen for body in batch) == sorted(sent)
    assert world.left(queue) == 0


def test_the_progress_of_a_stream_counts_its_messages(world: SparkWorld) -> None:
    queue = world.new_queue()
    world.fill(queue, 60)
    rows = world.stream(queue, maxMessagesPerBatch="30", receivers="2")
    query = (
        rows.writeStream.format("noop")
        .trigger(availableNow=True)
        .option("checkpointLocation", str(world.folder / "checkpoint"))
        .start()
    )
    query.awaitTermination()
    reports = {each.batchId: each.sources[0].latestOffset for each in query.recentProgress}
    second = json.loads(reports[1])
    assert second.pop("oldestStagedSeconds") >= 0
    assert second == {"received": 30, "staged": 30, "settled": 30, "visible": 30}


def _last_words(error: BaseException) -> str:
    """Returns the end of Spark's message, before the plan of a stream."""
    text = str(error).partition("=== Streaming Query ===")[0].partition("JVM stacktrace")[0]
    return text[-600:]


def test_errors_name_the_queue_and_where_it_was_asked_for(world: SparkWorld) -> None:
    endpoint = world.options["endpointUrl"]
    staging = str(world.folder / "s")
    missing = f"queue no-such-queue at {endpoint} does not exist"
    with pytest.raises(PySparkException) as peeked:
        _load(world, "no-such-queue").count()
    assert missing in _last_words(peeked.value)
    with pytest.raises(PySparkException) as written:
        _save(_numbered(world, 1), world, "no-such-queue")
    assert missing in _last_words(written.value)
    sink = world.into_queue("no-such-queue")
    query = sink(world.stream("no-such-queue"), world.folder / "checkpoint")
    with pytest.raises(PySparkException) as streamed:
        query.awaitTermination()
    assert missing in _last_words(streamed.value)
    reader = world.spark.read.format("dovemq").options(**world.options)
    drain = reader.options(secretAccessKey="wrong", mode="drain", stagingLocation=staging)
    with pytest.raises(PySparkException) as denied:
        drain.load(world.new_queue()).count()
    assert f"at {endpoint} denied access: SignatureDoesNotMatch" in _last_words(denied.value)


def test_a_task_that_cannot_receive_names_the_queue(world: SparkWorld) -> None:
    queue = world.new_queue()
    world.fill(queue, 3)
    rows = _load(world, queue, mode="drain", stagingLocation=str(world.folder / "drain"))
    planned = rows.select("body")
    assert planned.rdd.getNumPartitions() == 1
    world.client.delete_queue(queue)
    with pytest.raises(PySparkException) as failed:
        planned.collect()
    assert f"queue {queue} at {world.options['endpointUrl']} does not exist" in str(failed.value)


def test_a_drain_reads_the_same_messages_until_they_are_settled(world: SparkWorld) -> None:
    queue = world.new_queue()
    world.fill(queue, 30)
    place = {"stagingLocation": str(world.folder / "drain")}
    options = {**place, "mode": "drain", "maxMessagesPerBatch": "20"}
    first = _load(world, queue, **options)
    assert first.count() == 20
    again = {row.body for row in _load(world, queue, **options).collect()}
    assert again == {row.body for row in first.collect()}
    assert datasource.settle(queue=queue, **world.options, **place) == 1
    assert world.left(queue) == 10
    with pytest.raises(PySparkException, match="epoch 1 is settled"):
        first.collect()
    assert _load(world, queue, **options).count() == 10
    assert datasource.settle(queue=queue, **world.options, **place) == 1
    assert _load(world, queue, **options).count() == 0
    assert datasource.settle(queue=queue, **world.options, **place) == 0
    assert world.left(queue) == 0


def test_a_batch_that_is_written_again_doubles_nothing_on_a_fifo_queue(world: SparkWorld) -> None:
    queue = world.new_queue(fifo=True)
    named = _numbered(world, 100).withColumn("deduplication_id", sf.translate("body", " ", "-"))
    for _ in range(2):
        _save(named.coalesce(1), world, queue, groupId="one")
    assert world.bodies(queue) == [f"body {number}" for number in range(100)]


@pytest.mark.parametrize(
    ("columns", "options", "told"),
    [
        ({"body": "a", "extra": "b"}, {}, "column extra cannot be sent"),
        ({"body": "a"}, {"sendres": "4"}, "option sendres is not known"),
        ({"body": "a"}, {}, "column group_id is needed"),
        ({"body": "se\x01cret body", "group_id": "g"}, {}, "partition 0: row 0: Invalid"),
    ],
)
def test_refused_rows_are_reported_without_a_body(
    world: SparkWorld, columns: dict[str, str], options: dict[str, str], told: str
) -> None:
    queue = world.new_queue(fifo=True)
    rows = world.spark.createDataFrame([tuple(columns.values())], list(columns))
    with pytest.raises(PySparkException, match=told) as refused:
        _save(rows.coalesce(1), world, queue, **options)
    assert "cret body" not in str(refused.value)
    assert world.bodies(queue) == []


def test_a_queue_is_not_overwritten(world: SparkWorld) -> None:
    rows = _numbered(world, 1).write.format("dovemq").options(**world.options)
    with pytest.raises(PySparkException, match="must be append"):
        rows.mode("overwrite").save(world.new_queue())


def test_asked_columns_alone_are_read(world: SparkWorld) -> None:
    queue = world.new_queue()
    world.fill(queue, 3)
    reader = world.spark.read.format("dovemq").options(**world.options)
    rows = reader.schema("sent_ms BIGINT, body STRING").load(queue)
    assert rows.columns == ["sent_ms", "body"]
    assert rows.where("sent_ms > 0").count() == 3
    with pytest.raises(PySparkException, match="no column text"):
        reader.schema("text STRING").load(queue).collect()


def _explained(frame: DataFrame) -> str:
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain(True)
    return text.getvalue()


def test_no_plan_progress_file_or_error_shows_the_secret(world: SparkWorld) -> None:
    secret = world.options["secretAccessKey"]
    source, target = world.new_queue(), world.new_queue()
    world.fill(source, 10)
    texts = [_explained(_load(world, source)), _explained(world.stream(source))]
    reports: list[Any] = []
    sink = world.into_queue(target)
    world.run(source, lambda: world.stream(source), sink, lambda query: reports.append(query))
    texts += [json.dumps(query.lastProgress, default=str) for query in reports]
    texts += [json.dumps(query.status) for query in reports]
    with pytest.raises(PySparkException) as failed:
        _save(_numbered(world, 1), world, "no-such-queue")
    texts.append(str(failed.value))
    with pytest.raises(PySparkException) as unknown:
        _load(world, source, sekret=secret).count()
    texts.append(str(unknown.value))
    assert len(texts) > 5
    assert [text for text in texts if secret in text] == []
    kept = [path for path in world.folder.rglob("*") if path.is_file()]
    assert len(kept) > 5
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []


def test_the_guide_runs_as_it_is_written(world: SparkWorld) -> None:
    world.client.create_queue("orders", {}, {})
    world.client.create_queue("done.fifo", FIFO, {})
    sent = world.fill("orders", 20)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    program = "\n".join(block for block in blocks if not block.startswith("options ="))
    program = program.replace("/mnt/shared", str(world.folder))
    exec(program, {"spark": world.spark, "options": world.options})
    kept = world.spark.read.parquet(str(world.folder / "done"))
    assert sorted(row.body for row in kept.collect()) == sorted(body.upper() for body in sent)
    assert world.left("orders") == 0
    assert sorted(world.bodies("done.fifo")) == ["one", "two"]
