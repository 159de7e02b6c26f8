import os
from pathlib import Path

import pyarrow as pa
import pytest

from dovemq.pipeline.source import columns
from dovemq.pipeline.source.columns import StagedColumns
from dovemq.pipeline.source.errors import StagingBusy, StagingStrange, StagingUnfit
from dovemq.pipeline.source.folders import LocalStagingFolder
from dovemq.pipeline.source.slots import SlotContent
from dovemq.pipeline.source.staging import (
    Epoch,
    Promise,
    Received,
    StagedEntry,
    Staging,
    State,
    owed_in,
)
from dovemq.sqs.shapes import AttributeValue, ReceivedMessage

QUEUE = "000000000000/orders"
NOTHING: frozenset[str] = frozenset()


def _received(*message_ids: str, asked: list[str] = columns.SCHEMA.names) -> Received:
    content = SlotContent(StagedColumns.of(asked), 100, 1_000)
    content.take(
        [ReceivedMessage(each, f"{each}#1", "", f"body of {each}") for each in message_ids], 100
    )
    return content.received()


def _fill(
    place: LocalStagingFolder, epoch: int, slot: int, *ids: str, owed: str = ""
) -> StagedEntry | None:
    return Epoch(place, epoch).publish(slot, _received(*ids), frozenset(owed))


def _ids(place: LocalStagingFolder, epoch: int, slot: int) -> list[str]:
    log = Epoch(place, epoch)
    entry = log.entry_of(slot)
    assert entry is not None
    batches = log.read(entry, ["message_id"])
    return [message_id for batch in batches for message_id in batch.column(0).to_pylist()]


def test_a_received_message_fills_its_columns() -> None:
    system = {
        "SentTimestamp": "17",
        "ApproximateReceiveCount": "2",
        "MessageGroupId": "g",
        "SequenceNumber": "10000000000000000001",
    }
    attributes = {
        "n": AttributeValue("Number", "1"),
        "b": AttributeValue("Binary.png", binary_value=b"\x00"),
    }
    message = ReceivedMessage("m", "r", "", "text", system, message_attributes=attributes)
    (row,) = columns.received_batch(
        [message], StagedColumns.of(columns.SCHEMA.names).schema
    ).to_pylist()
    assert row["sent_ms"] == 17
    assert row["receive_count"] == 2
    assert row["group_id"] == "g"
    assert row["sequence_number"] == "10000000000000000001"
    assert row["sender"] is None
    assert row["attributes"] == [
        ("n", {"type": "Number", "value": "1", "binary": None}),
        ("b", {"type": "Binary.png", "value": None, "binary": b"\x00"}),
    ]


def test_the_shares_of_a_promise_add_up_to_its_count() -> None:
    for slots in (1, 2, 3, 7):
        for count in (1, 10, 100_000):
            shares = Promise("s", 1, slots, count).shares()
            assert sum(slot.count_max for slot in shares) == count
            assert [slot.number for slot in shares] == list(range(slots))


def test_slots_are_read_as_they_were_filled(tmp_path: Path) -> None:
    place = LocalStagingFolder(tmp_path)
    _fill(place, 1, 1, "a", "b")
    _fill(place, 1, 0, "c")
    assert _ids(place, 1, 1) == ["a", "b"]
    assert _ids(place, 1, 0) == ["c"]
    assert Epoch(place, 1).entry_of(2) is None
    assert Epoch(place, 2).entry_of(0) is None


def test_a_slot_is_filled_once(tmp_path: Path) -> None:
    place = LocalStagingFolder(tmp_path)
    assert _fill(place, 1, 0, "a") is not None
    assert _fill(place, 1, 0, "b") is None
    assert _ids(place, 1, 0) == ["a"]
    assert len(list(tmp_path.glob("*.arrow"))) == 1


def test_rows_that_were_staged_before_or_are_owed_are_not_returned(tmp_path: Path) -> None:
    place = LocalStagingFolder(tmp_path)
    _fill(place, 1, 0, "a", "b")
    entry = _fill(place, 1, 1, "c", "b", "c", "d", "e", owed="d")
    assert entry is not None
    assert entry.repeated == [1, 2, 3]
    assert _ids(place, 1, 1) == ["c", "e"]


def test_receipts_of_repeated_rows_are_known_too(tmp_path: Path) -> None:
    place = LocalStagingFolder(tmp_path)
    _fill(place, 1, 0, "a")
    _fill(place, 1, 1, "a", "b")
    log = Epoch(place, 1)
    assert len(log.refresh()) == 2
    assert log.receipts == [("a", "a#1"), ("a", "a#1"), ("b", "b#1")]
    _fill(place, 1, 2, "c")
    assert len(log.refresh()) == 3
    assert log.receipts[3:] == [("c", "c#1")]


def test_rows_are_read_without_their_receipts_in_the_asked_columns(tmp_path: Path) -> None:
    place = LocalStagingFolder(tmp_path)
    entry = _fill(place, 1, 0, "a")
    assert entry is not None
    (batch,) = Epoch(place, 1).read(entry, ["body", "message_id"])
    assert batch.schema.names == ["body", "message_id"]
    (whole,) = Epoch(place, 1).read(entry, columns.SCHEMA.names)
    assert whole.schema == columns.SCHEMA


def test_a_file_holds_the_asked_columns_alone() -> None:
    content = _received("a", asked=["body"]).content
    assert pa.ipc.open_file(content).schema.names == ["message_id", "body", "sent_ms", "receipt"]


def test_a_settled_epoch_leaves_nothing_but_the_state(tmp_path: Path) -> None:
    staged = Staging(LocalStagingFolder(tmp_path), QUEUE)
    _fill(LocalStagingFolder(tmp_path), 1, 0, "a", "b")
    (tmp_path / "000000000001-001.json.0a.partial").touch()
    staged.finish(frozenset({"a"}), frozenset({"b"}))
    assert sorted(os.listdir(tmp_path)) == ["lock", "state.json"]
    staged.close()
    again = Staging(LocalStagingFolder(tmp_path), QUEUE)
    assert again.state == State(QUEUE, staged.state.staging, 1, frozenset({"b"}))
    assert again.epoch.number == 2
    again.finish(frozenset({"b"}), NOTHING)
    assert again.state.owed == NOTHING
    again.close()


def test_files_of_settled_epochs_are_removed_and_those_of_later_ones_kept(tmp_path: Path) -> None:
    staged = Staging(LocalStagingFolder(tmp_path), QUEUE)
    staged.finish(NOTHING, NOTHING)
    staged.close()
    _fill(LocalStagingFolder(tmp_path), 1, 0, "late")
    _fill(LocalStagingFolder(tmp_path), 2, 0, "a")
    (tmp_path / "000000000002-001.json.0a.partial").touch()
    again = Staging(LocalStagingFolder(tmp_path), QUEUE)
    assert {name[:12] for name in os.listdir(tmp_path) if name[0] == "0"} == {"000000000002"}
    assert (tmp_path / "000000000002-001.json.0a.partial").exists()
    again.close()


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    first = Staging(LocalStagingFolder(tmp_path), QUEUE)
    with pytest.raises(StagingBusy, match="stagingLocation of its own"):
        Staging(LocalStagingFolder(tmp_path, lambda seconds: None), QUEUE)
    Staging(LocalStagingFolder(tmp_path, lambda seconds: first.close()), QUEUE).close()


def test_the_place_of_another_queue_is_refused_and_its_lock_let_go(tmp_path: Path) -> None:
    Staging(LocalStagingFolder(tmp_path), QUEUE).close()
    with pytest.raises(StagingStrange, match="holds messages of 000000000000/orders"):
        Staging(LocalStagingFolder(tmp_path), "000000000000/others")
    (tmp_path / "state.json").write_bytes(b"{")
    with pytest.raises(StagingStrange, match="cannot be read"):
        Staging(LocalStagingFolder(tmp_path), QUEUE)
    (tmp_path / "state.json").unlink()
    Staging(LocalStagingFolder(tmp_path), QUEUE).close()


def test_a_task_of_another_staging_location_is_refused(tmp_path: Path) -> None:
    (slot,) = Promise("other", 1, 1, 10).shares()
    with pytest.raises(StagingUnfit, match="driver and executors must see the same files"):
        owed_in(LocalStagingFolder(tmp_path), slot)
    Staging(LocalStagingFolder(tmp_path), QUEUE).close()
    with pytest.raises(StagingStrange, match="the task belongs to another one"):
        owed_in(LocalStagingFolder(tmp_path), slot)


def test_a_new_place_is_for_its_owner_alone(tmp_path: Path) -> None:
    Staging(LocalStagingFolder(tmp_path / "new"), QUEUE).close()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
