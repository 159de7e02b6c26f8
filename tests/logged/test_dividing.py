"""The work of one commit as groups of bounded size."""

import asyncio

from dovemq.core.commands import Sent
from dovemq.core.entry import DEAD, Entry
from dovemq.core.message import Message
from dovemq.stores.owned.group import CommitGroup, Sending, SendItem
from dovemq.stores.owned.logged.dividing import GROUP_BYTES_AIM, divided

PLACE = (1, 0)


def item(sequence: int, record: bytes = b"r") -> SendItem:
    message = Message(f"m{sequence}", sequence, "", 0, "")
    return SendItem(
        message, (sequence, 0, record), Entry(sequence, 0, 0), Sent(f"m{sequence}", sequence)
    )


async def sending(*items: SendItem) -> Sending:
    future = asyncio.get_running_loop().create_future()
    return Sending(PLACE, 0, lambda _: None, future, list(items))


async def test_small_commit_is_one_group_with_everything() -> None:
    group = CommitGroup()
    group.deletes = [(1, 0, 5)]
    group.expired = [(1, 0, 6)]
    group.touched = {7: (PLACE, Entry(7, 100, 1, 2, 3))}
    group.forgets = [(PLACE, 40), (PLACE, 50)]
    group.sendings = [await sending(item(8), item(9))]
    (only,) = divided(group, 1)
    assert only.deletes == [5, 6]
    assert [row.sequence for row in only.sends] == [8, 9]
    assert only.leases == [(7, 100, 2, 3)]
    assert only.forgotten_ms == 50


async def test_messages_of_one_request_stay_together() -> None:
    group = CommitGroup()
    long = b"x" * (GROUP_BYTES_AIM // 2)
    group.sendings = [await sending(item(1, long), item(2, long), item(3, long)) for _ in range(2)]
    assert [len(part.sends) for part in divided(group, 1)] == [3, 3]


async def test_deletes_are_in_a_group_before_all_sends() -> None:
    group = CommitGroup()
    group.deletes = [(1, 0, number) for number in range(60_000)]
    group.sendings = [await sending(item(60_001))]
    parts = divided(group, 1)
    assert len(parts) == 3
    assert sum(len(part.deletes) for part in parts) == 60_000
    assert [len(part.sends) for part in parts] == [0, 0, 1]


async def test_refused_duplicates_and_dead_leases_are_not_written() -> None:
    group = CommitGroup()
    duplicate = item(1)
    duplicate.accepted = False
    group.sendings = [await sending(duplicate)]
    group.touched = {7: (PLACE, Entry(7, 100, 1, DEAD))}
    assert divided(group, 1) == []


async def test_sends_are_left_out_of_a_full_store() -> None:
    group = CommitGroup()
    group.deletes = [(1, 0, 5)]
    group.sendings = [await sending(item(8))]
    (only,) = divided(group, 1, sends=False)
    assert only.deletes == [5]
    assert not only.sends
