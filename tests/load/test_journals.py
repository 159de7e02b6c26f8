"""Journals keep what was written, also when their writer is killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dovemq.load.contents import Label, crc32, label_of, new_body
from dovemq.load.journals import (
    MESSAGE_ID_BYTES,
    RECEIVE,
    SEND,
    SUFFIX,
    ReceiverJournal,
    RequestOutcome,
    SenderJournal,
)
from dovemq.load.reading import (
    JournalFile,
    JournalsDiffer,
    JournalsMissing,
    JournalUnreadable,
    open_journals,
)
from dovemq.load.rows import CHUNK_ROWS

QUEUES = ("jobs", "letters")
DIES = """
import os, signal, sys
from pathlib import Path
from dovemq.load.journals import SenderJournal

journal = SenderJournal("run", ("jobs",), Path(sys.argv[1]))
for number in range(1, 1_001):
    slot = journal.sending(0, 3, number, 5, 10, number)
    if number < 1_000:
        journal.acknowledged(slot, f"id-{number}", number + 1)
os.kill(os.getpid(), signal.SIGKILL)
"""


def path_in(folder: Path, name: str = "one") -> Path:
    return folder / f"{name}{SUFFIX}"


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    with SenderJournal("run", QUEUES, path_in(tmp_path)) as journal:
        first = journal.sending(1, 2, 3, 0xFFFFFFFF, 4, 1_000)
        second = journal.sending(0, 2, 4, 0, 4, 1_001)
        journal.sending(0, 2, 5, 0, 4, 1_002)
        journal.acknowledged(first, "m-1", 1_500)
        journal.refused(second, 1_600)
    file = JournalFile(path_in(tmp_path))
    (rows,) = file.blocks()
    assert (file.heading.run, file.heading.queues, rows.dtype) == ("run", QUEUES, SEND)
    assert rows["outcome"].tolist() == [
        RequestOutcome.ACKNOWLEDGED,
        RequestOutcome.REFUSED,
        RequestOutcome.UNKNOWN,
    ]
    assert rows["answered_us"].tolist() == [1_500, 1_600, 0]
    assert rows["message_id"].tolist() == [b"m-1", b"", b""]
    told = {name: rows[0][name].item() for name in ("queue", "sender", "send_seq", "body_crc32")}
    assert told == {"queue": 1, "sender": 2, "send_seq": 3, "body_crc32": 0xFFFFFFFF}
    assert (rows[0]["sent_us"], rows[0]["bytes"]) == (1_000, 4)


def test_receive_is_recorded_with_its_lease_and_settle() -> None:
    journal = ReceiverJournal("run", QUEUES)
    slots = [
        journal.received(1, 9, 2, number, "m-1", 7, 10, 2, 1_000, 1_300, 30_000)
        for number in range(4)
    ]
    for slot in slots[1:]:
        journal.settling(slot, 2_000)
    journal.settled(slots[2], 2_500)
    journal.settle_refused(slots[3], 2_600)
    rows = journal.array()
    assert rows.dtype == RECEIVE
    assert rows["outcome"].tolist() == [
        RequestOutcome.NONE,
        RequestOutcome.UNKNOWN,
        RequestOutcome.ACKNOWLEDGED,
        RequestOutcome.REFUSED,
    ]
    assert rows["settled_us"].tolist() == [0, 2_000, 2_500, 2_600]
    assert rows["lease_until_us"].tolist() == [31_000] * 4
    last = rows[3]
    assert (last["receiver"], last["receive_count"], last["message_id"]) == (9, 2, b"m-1")
    assert (last["asked_us"], last["received_us"], last["send_seq"]) == (1_000, 1_300, 3)


def test_long_journal_goes_on_from_chunk_to_chunk(tmp_path: Path) -> None:
    count = 2 * CHUNK_ROWS + 5
    with SenderJournal("run", QUEUES, path_in(tmp_path)) as journal:
        first = journal.sending(0, 0, 0, 0, 0, 0)
        for number in range(1, count):
            journal.sending(0, 0, number, 0, 0, number)
        journal.acknowledged(first, "late", 5)
        assert len(journal) == count
    blocks = list(JournalFile(path_in(tmp_path)).blocks())
    assert [seq for rows in blocks for seq in rows["send_seq"].tolist()] == list(range(count))
    assert blocks[0]["message_id"][0] == b"late"


def test_killed_client_leaves_every_row_it_wrote(tmp_path: Path) -> None:
    path = path_in(tmp_path)
    done = subprocess.run([sys.executable, "-c", DIES, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    rows = [row for block in JournalFile(path).blocks() for row in block]
    assert [row["send_seq"] for row in rows] == list(range(1, 1_001))
    assert [row["outcome"] for row in rows] == [RequestOutcome.ACKNOWLEDGED] * 999 + [
        RequestOutcome.UNKNOWN
    ]


@pytest.mark.parametrize("cut", [1, SEND.itemsize - 1])
def test_torn_tail_is_passed_over(tmp_path: Path, cut: int) -> None:
    path = path_in(tmp_path)
    with SenderJournal("run", QUEUES, path) as journal:
        for number in range(10):
            journal.sending(0, 0, number, 0, 0, number)
    path.write_bytes(path.read_bytes()[:-cut])
    (rows,) = JournalFile(path).blocks()
    assert rows["send_seq"].tolist() == list(range(9))


def test_incomplete_row_is_skipped(tmp_path: Path) -> None:
    path = path_in(tmp_path)
    with SenderJournal("run", QUEUES, path) as journal:
        journal.sending(0, 0, 1, 0, 0, 1)
        chunk, at = journal.sending(0, 0, 2, 0, 0, 2)
        chunk[at] = 0
    (rows,) = JournalFile(path).blocks()
    assert rows["send_seq"].tolist() == [1]


def test_long_message_ids_are_kept_apart(tmp_path: Path) -> None:
    journal = SenderJournal("run", QUEUES)
    for ending in "ab":
        journal.acknowledged(journal.sending(0, 0, 1, 0, 0, 0), "x" * 99 + ending, 1)
    ids = journal.array()["message_id"].tolist()
    assert ids[0] != ids[1]
    assert {len(each) for each in ids} == {MESSAGE_ID_BYTES}


def test_journal_does_not_overwrite_another(tmp_path: Path) -> None:
    SenderJournal("run", QUEUES, path_in(tmp_path)).close()
    with pytest.raises(FileExistsError):
        SenderJournal("run", QUEUES, path_in(tmp_path))


def test_journals_of_a_directory_are_found_in_order(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for place in ("b", "a", "deep/c"):
        SenderJournal("run", QUEUES, path_in(tmp_path, place)).close()
    found = [journal.path.stem for journal in open_journals([tmp_path, path_in(tmp_path, "a")])]
    assert found == ["a", "b", "c"]


def test_journals_of_two_runs_are_not_mixed(tmp_path: Path) -> None:
    SenderJournal("run", QUEUES, path_in(tmp_path, "a")).close()
    ReceiverJournal("other", QUEUES, path_in(tmp_path, "b")).close()
    with pytest.raises(JournalsDiffer, match="another run"):
        open_journals([tmp_path])


def test_journals_that_number_queues_differently_are_not_mixed(tmp_path: Path) -> None:
    SenderJournal("run", QUEUES, path_in(tmp_path, "a")).close()
    ReceiverJournal("run", QUEUES[:1], path_in(tmp_path, "b")).close()
    with pytest.raises(JournalsDiffer, match="list of queues"):
        open_journals([tmp_path])


def test_without_a_sender_nothing_can_be_checked(tmp_path: Path) -> None:
    ReceiverJournal("run", QUEUES, path_in(tmp_path)).close()
    with pytest.raises(JournalsMissing):
        open_journals([tmp_path])


@pytest.mark.parametrize(
    "content",
    [b"", b"something else entirely", b"dovemq journal 1\x05\0\0\0{}}}}"],
    ids=["empty", "foreign", "broken"],
)
def test_file_that_is_no_journal_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path_in(tmp_path).write_bytes(content)
    with pytest.raises(JournalUnreadable, match=r"one\.journal"):
        open_journals([tmp_path])


def test_body_carries_its_label_through() -> None:
    label = Label("run7", 12, 34_567)
    body = new_body(label, "filler: with.signs")
    assert label_of(body) == label
    assert crc32(body) != crc32(body + "x")


@pytest.mark.parametrize("body", ["", "hello", "a.b:c", "run.1.x:", "run.1.2"])
def test_body_without_a_label_is_known_as_such(body: str) -> None:
    assert label_of(body) is None
