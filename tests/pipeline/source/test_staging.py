import os
from pathlib import Path

import pyarrow as pa
import pytest

from dovemq.pipeline.source import columns, staging
from dovemq.pipeline.source.errors import StagingBusy, StagingStrange
from dovemq.pipeline.source.staging import Staging, read_slice, slices_between
from dovemq.sqs.shapes import AttributeValue, ReceivedMessage

QUEUE = "000000000000/orders"


def _batch(*message_ids: str) -> pa.RecordBatch:
    return columns.received_batch(
        [ReceivedMessage(each, f"{each}#1", "", f"body of {each}") for each in message_ids]
    )


def _stage(staged: Staging, epoch: int, *batches: pa.RecordBatch, slices: int = 2) -> None:
    writer = staged.write(epoch, slices)
    for batch in batches:
        writer.write(batch)
    writer.publish()


def _ids(folder: Path, start: int, end: int) -> list[list[str]]:
    return [
        [
            message_id
            for batch in read_slice(part, ["message_id"])
            for message_id in batch.column(0).to_pylist()
        ]
        for part in slices_between(folder, start, end)
    ]


def test_a_received_message_fills_its_columns() -> None:
    told = {
        "SentTimestamp": "17",
        "ApproximateReceiveCount": "2",
        "MessageGroupId": "g",
        "SequenceNumber": "10000000000000000001",
    }
    attributes = {
        "n": AttributeValue("Number", "1"),
        "b": AttributeValue("Binary.png", binary_value=b"\x00"),
    }
    message = ReceivedMessage("m", "r", "", "text", told, message_attributes=attributes)
    (row,) = columns.received_batch([message]).to_pylist()
    assert row["sent_ms"] == 17
    assert row["receive_count"] == 2
    assert row["group_id"] == "g"
    assert row["sequence_number"] == "10000000000000000001"
    assert row["sender"] is None
    assert row["attributes"] == [
        ("n", {"type": "Number", "value": "1", "binary": None}),
        ("b", {"type": "Binary.png", "value": None, "binary": b"\x00"}),
    ]


def test_an_epoch_is_read_in_the_slices_it_was_staged_for(tmp_path: Path) -> None:
    staged = Staging(tmp_path, QUEUE)
    _stage(staged, 1, _batch("a", "b"), _batch("c"), _batch("d"), slices=2)
    _stage(staged, 2, _batch("e"), slices=9)
    assert _ids(tmp_path, 0, 2) == [["a", "b"], ["c", "d"], ["e"]]
    assert _ids(tmp_path, 1, 2) == [["e"]]
    assert _ids(tmp_path, 2, 2) == []
    staged.close()


def test_rows_are_read_without_their_receipts_in_the_asked_columns(tmp_path: Path) -> None:
    staged = Staging(tmp_path, QUEUE)
    _stage(staged, 1, _batch("a"))
    (part,) = slices_between(tmp_path, 0, 1)
    (batch,) = read_slice(part, ["body", "message_id"])
    assert batch.schema.names == ["body", "message_id"]
    (whole,) = read_slice(part, columns.SCHEMA.names)
    assert whole.schema == columns.SCHEMA
    staged.close()


def test_an_epoch_that_was_not_published_is_not_there(tmp_path: Path) -> None:
    staged = Staging(tmp_path, QUEUE)
    writer = staged.write(1, 1)
    writer.write(_batch("a"))
    (half,) = tmp_path.glob("*.partial")
    written = half.read_bytes()
    writer.discard()
    staged.close()
    half.write_bytes(written)
    again = Staging(tmp_path, QUEUE)
    assert again.receipts == {}
    assert not list(tmp_path.glob("*.partial"))
    with pytest.raises(StagingStrange, match="epoch 1 of the checkpoint is not there"):
        slices_between(tmp_path, 0, 1)
    again.close()


def test_receipts_are_found_again_the_newest_of_each(tmp_path: Path) -> None:
    staged = Staging(tmp_path, QUEUE)
    writer = staged.write(1, 1)
    writer.write(_batch("a", "b", "c"))
    writer.renew("b", "b#2")
    writer.renew("b", "b#3")
    writer.publish()
    staged.close()
    with (tmp_path / "receipts.log").open("ab") as log:
        log.write(b"a\ta#9, and the power goes")
    again = Staging(tmp_path, QUEUE)
    assert again.receipts == {1: {"a": "a#1", "b": "b#3", "c": "c#1"}}
    again.log.add("a", "a#2")
    again.close()
    last = Staging(tmp_path, QUEUE)
    assert last.receipts == {1: {"a": "a#2", "b": "b#3", "c": "c#1"}}
    last.close()


def test_a_settled_epoch_leaves_nothing_but_the_state(tmp_path: Path) -> None:
    staged = Staging(tmp_path, QUEUE)
    _stage(staged, 1, _batch("a", "b"))
    staged.log.add("b", "b#2")
    staged.log.sync()
    staged.forget(1, owed=frozenset({"b"}))
    assert sorted(os.listdir(tmp_path)) == ["lock", "receipts.log", "state.json"]
    assert (tmp_path / "receipts.log").read_bytes() == b""
    staged.close()
    again = Staging(tmp_path, QUEUE)
    assert again.state == staging.State(QUEUE, 1, frozenset({"b"}))
    assert again.last == 1
    again.pay(frozenset({"b"}))
    assert again.state.owed == frozenset()
    again.close()


def test_a_file_that_outlived_its_settlement_is_removed(tmp_path: Path) -> None:
    staged = Staging(tmp_path, QUEUE)
    _stage(staged, 1, _batch("a"))
    copy = staging.epoch_path(tmp_path, 1).read_bytes()
    staged.forget(1)
    staged.close()
    staging.epoch_path(tmp_path, 1).write_bytes(copy)
    again = Staging(tmp_path, QUEUE)
    assert again.receipts == {}
    assert not staging.epoch_path(tmp_path, 1).exists()
    again.close()


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    first = Staging(tmp_path, QUEUE)
    with pytest.raises(StagingBusy, match="stagingLocation of its own"):
        Staging(tmp_path, QUEUE)
    first.close()
    Staging(tmp_path, QUEUE).close()


def test_the_place_of_another_queue_is_refused_and_its_lock_let_go(tmp_path: Path) -> None:
    Staging(tmp_path, QUEUE).close()
    with pytest.raises(StagingStrange, match="holds messages of 000000000000/orders"):
        Staging(tmp_path, "000000000000/others")
    (tmp_path / "state.json").write_bytes(b"{")
    with pytest.raises(StagingStrange, match="cannot be read"):
        Staging(tmp_path, QUEUE)
    (tmp_path / "state.json").unlink()
    Staging(tmp_path, QUEUE).close()


def test_a_new_place_is_for_its_owner_alone(tmp_path: Path) -> None:
    Staging(tmp_path / "new", QUEUE).close()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_an_epoch_that_is_settled_cannot_be_read(tmp_path: Path) -> None:
    staged = Staging(tmp_path, QUEUE)
    _stage(staged, 1, _batch("a"))
    (part,) = slices_between(tmp_path, 0, 1)
    staged.forget(1)
    with pytest.raises(StagingStrange, match="is not there, or settled"):
        list(read_slice(part, ["body"]))
    staged.close()
