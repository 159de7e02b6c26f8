"""Ranges of messages, on an admin API in memory."""

from typing import Any

import pytest

from dovemq.client import BlockingAdminClient
from dovemq.pipeline.source.peeking import Peeking

HUGE = 2**63 - 1


class FakeAdmin(BlockingAdminClient):
    """A queue with these sequence numbers; pages end early, as with large messages."""

    def __init__(self, sequences: list[int], page_max: int = 300) -> None:
        self.sequences = sorted(sequences)
        self.asked = 0
        self._page_max = page_max

    def queue(self, account: str, name: str) -> dict[str, Any]:
        return {"counts": {"visible": len(self.sequences), "leased": 0, "delayed": 0}}

    def messages(
        self, account: str, name: str, count_max: int = 10, after: int | str = 0
    ) -> dict[str, Any]:
        assert 1 <= count_max <= 1_000
        self.asked += 1
        count = min(count_max, self._page_max)
        page = [each for each in self.sequences if each > int(after)][:count]
        more = len(page) == count
        return {
            "messages": [{"sequence": each} for each in page],
            "next": page[-1] if more else None,
        }


def _read(admin: FakeAdmin, count_max: int, readers: int) -> list[list[int]]:
    peeking = Peeking(admin, "000000000000/orders")
    return [
        [each["sequence"] for page in peeking.pages(span) for each in page]
        for span in peeking.spans(count_max, readers)
    ]


@pytest.mark.parametrize(
    "sequences",
    [
        list(range(1, 5_001)),
        list(range(10**12, 10**12 + 40_000, 8)),
        [1, *range(HUGE - 4_999, HUGE)],
        [each * each for each in range(1, 5_001)],
    ],
    ids=["dense", "sparse", "far", "skewed"],
)
def test_ranges_hold_every_message_once_in_order(sequences: list[int]) -> None:
    parts = _read(FakeAdmin(sequences), 100_000, 4)
    assert len(parts) == 4
    assert [each for part in parts for each in part] == sequences


def test_even_sequences_are_divided_evenly() -> None:
    assert [len(part) for part in _read(FakeAdmin(list(range(1, 8_001))), 100_000, 4)] == [
        2_000
    ] * 4


def test_a_queue_of_more_than_the_limit_gives_each_task_its_share() -> None:
    parts = _read(FakeAdmin(list(range(1, 8_001))), 1_001, 4)
    assert [len(part) for part in parts] == [250, 250, 250, 251]
    assert [part[0] for part in parts] == [1, 2_001, 4_001, 6_001]


def test_one_task_reads_a_small_or_empty_queue_without_looking_for_its_end() -> None:
    admin = FakeAdmin([3, 5, 9])
    assert _read(admin, 2, 4) == [[3, 5]]
    assert admin.asked == 1
    assert _read(FakeAdmin([]), 10, 4) == [[]]
