"""Request quotas: how many go on, how long the others wait, and that they wait apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.service.throttle import BUCKETS_MAX, WAIT_MS_MAX, Throttle

ACCOUNT = "111111111111"
OTHER = "222222222222"


def throttle(rate: int | None) -> Throttle:
    return Throttle(lambda account: rate if account == ACCOUNT else None)


def taken(bucket: Throttle, count: int, now_ms: int) -> list[int]:
    return [bucket.take(ACCOUNT, now_ms) for _ in range(count)]


def test_account_without_a_quota_never_waits() -> None:
    bucket = throttle(1)
    assert [bucket.take(OTHER, 0) for _ in range(1_000)] == [0] * 1_000


def test_burst_is_one_second_s_worth() -> None:
    waits = taken(throttle(200), 250, 0)
    assert waits[:200] == [0] * 200
    assert all(waits[200:])


def test_tokens_come_back_with_time_and_no_more_than_a_burst() -> None:
    bucket = throttle(200)
    taken(bucket, 200, 0)
    assert taken(bucket, 3, 10)[:2] == [0, 0]
    assert taken(bucket, 3, 10) != [0, 0, 0]
    waits = taken(bucket, 300, 3_600_000)
    assert waits.count(0) == 200


def test_waiting_clients_get_times_a_token_apart() -> None:
    bucket = throttle(200)
    taken(bucket, 200, 0)
    assert taken(bucket, 4, 0) == [5, 10, 15, 20]


def test_promised_times_pass() -> None:
    bucket = throttle(200)
    taken(bucket, 202, 0)
    assert taken(bucket, 3, 10) == [0, 0, 5]


def test_wait_is_bounded_however_many_clients_wait() -> None:
    bucket = throttle(1)
    waits = taken(bucket, 1_000, 0)
    assert max(waits) == WAIT_MS_MAX
    assert taken(bucket, 1, WAIT_MS_MAX) == [0]


def test_quota_of_one_takes_one_a_second() -> None:
    bucket = throttle(1)
    waits = [bucket.take(ACCOUNT, now_ms) for now_ms in (0, 500, 999, 1_000, 1_001, 2_000)]
    assert [wait == 0 for wait in waits] == [True, False, False, True, False, True]


def test_rate_above_one_a_millisecond_is_exact() -> None:
    bucket = throttle(5_000)
    taken(bucket, 5_000, 0)
    assert taken(bucket, 6, 1)[:5] == [0] * 5


def test_changed_quota_counts_at_once() -> None:
    rates = [10]
    bucket = Throttle(lambda _: rates[0])
    taken(bucket, 10, 0)
    rates[0] = 1_000
    assert taken(bucket, 50, 50) == [0] * 50
    rates[0] = 2
    assert taken(bucket, 3, 5_000).count(0) == 2


def test_memory_is_bounded_by_forgetting_all() -> None:
    bucket = Throttle(lambda _: 1)
    for number in range(BUCKETS_MAX + 1):
        assert bucket.take(f"{number:012}", 0) == 0
    assert bucket.take(f"{0:012}", 0) == 0


def test_large_request_costs_as_many_tokens_as_it_has_parts() -> None:
    bucket = throttle(10)
    assert bucket.take(ACCOUNT, 0, 8) == 0
    assert [wait == 0 for wait in taken(bucket, 3, 0)] == [True, True, False]


def test_cost_above_the_burst_is_accepted_and_owed() -> None:
    bucket = throttle(10)
    assert bucket.take(ACCOUNT, 0, 25) == 0
    assert bucket.take(ACCOUNT, 1_500, 1) > 0
    assert bucket.take(ACCOUNT, 1_600, 1) == 0


@given(
    rate=st.integers(1, 3_000),
    steps=st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=60),
)
def test_never_more_than_burst_and_rate_and_each_wait_is_enough(
    rate: int, steps: list[tuple[int, int]]
) -> None:
    bucket = throttle(rate)
    now_ms = passed = 0
    for pause_ms, asks in steps:
        now_ms += pause_ms
        waits = taken(bucket, asks, now_ms)
        passed += waits.count(0)
        assert passed * 1_000 <= rate * 1_000 + now_ms * rate
        assert all(0 <= wait <= WAIT_MS_MAX for wait in waits)
    wait_ms = bucket.take(ACCOUNT, now_ms)
    if wait_ms:
        assert bucket.take(ACCOUNT, now_ms + wait_ms) == 0


@pytest.mark.parametrize("rate", [7, 200, 999])
def test_client_that_keeps_to_its_wait_is_refused_once(rate: int) -> None:
    bucket = throttle(rate)
    taken(bucket, rate, 0)
    waits = taken(bucket, 30, 0)
    refused = [wait for wait in sorted(waits) if bucket.take(ACCOUNT, wait)]
    assert not refused
