"""The violations of one message, and what is not a violation."""

from typing import Any

import msgspec
import pytest

from dovemq.load.journals import RequestOutcome
from dovemq.load.judgement import (
    DEDUPLICATION_US,
    Cause,
    MessageVerdict,
    ReceiveRecord,
    SendRecord,
    Slack,
    Violation,
    judge,
)

LEASE_US = 30_000_000
EXACT = Slack(lease_us=0)


def sent(
    outcome: RequestOutcome = RequestOutcome.ACKNOWLEDGED, message_id: bytes = b"m1"
) -> SendRecord:
    kept = message_id if outcome is RequestOutcome.ACKNOWLEDGED else b""
    return SendRecord(0, 0, 1, 0, outcome, 77, kept, 100)


def received(
    asked_us: int,
    *,
    settled_us: int | None = None,
    outcome: RequestOutcome | None = None,
    **changes: Any,
) -> ReceiveRecord:
    """A receive that is answered after 10 µs, leased for 30 s, and settled at the given time."""
    if outcome is None:
        outcome = RequestOutcome.NONE if settled_us is None else RequestOutcome.ACKNOWLEDGED
    given = {
        "queue": 0,
        "sender": 0,
        "send_seq": 1,
        "received_us": asked_us + 10,
        "place": asked_us,
        "outcome": outcome,
        "body_crc32": 77,
        "message_id": b"m1",
        "receiver": 0,
        "receive_count": 1,
        "asked_us": asked_us,
        "lease_until_us": asked_us + LEASE_US,
        "settled_us": settled_us or 0,
    }
    return ReceiveRecord(**{**given, **changes})


def judged(
    attempts: list[SendRecord], deliveries: list[ReceiveRecord], slack: Slack = EXACT
) -> tuple[set[Violation], tuple[Cause, ...]]:
    judgement: MessageVerdict = judge(attempts, deliveries, slack)
    return set(judgement.faults), judgement.causes


def test_message_received_once_violates_nothing() -> None:
    assert judged([sent()], [received(500, settled_us=900)]) == (set(), ())


def test_acknowledged_message_that_was_never_received_is_lost() -> None:
    assert judged([sent()], []) == ({Violation.LOST}, ())


@pytest.mark.parametrize("outcome", [RequestOutcome.UNKNOWN, RequestOutcome.REFUSED])
def test_message_that_was_not_acknowledged_may_stay_away(outcome: RequestOutcome) -> None:
    assert judged([sent(outcome)], []) == (set(), ())


def test_message_whose_send_was_not_answered_may_be_received() -> None:
    assert judged([sent(RequestOutcome.UNKNOWN)], [received(500)]) == (set(), ())


def test_acknowledged_copy_is_lost_though_an_unanswered_one_was_received() -> None:
    attempts = [sent(RequestOutcome.UNKNOWN), sent(message_id=b"m2")]
    assert judged(attempts, [received(500)])[0] == {Violation.LOST}


@pytest.mark.parametrize(
    "attempts", [[], [sent(RequestOutcome.REFUSED)]], ids=["unsent", "refused"]
)
def test_message_that_nobody_sent_is_strange(attempts: list[SendRecord]) -> None:
    assert judged(attempts, [received(500)])[0] == {Violation.STRANGE}


def test_message_with_another_checksum_is_corrupted() -> None:
    spoiled = received(500, body_crc32=78)
    assert judged([sent()], [spoiled])[0] == {Violation.CORRUPTED}
    judgement = judge([sent()], [spoiled, received(LEASE_US + 900)], EXACT)
    assert (set(judgement.faults), judgement.intact) == ({Violation.CORRUPTED}, True)


def test_both_copies_of_a_repeated_send_may_come() -> None:
    attempts = [sent(RequestOutcome.UNKNOWN), sent(message_id=b"m2")]
    deliveries = [received(500), received(600, message_id=b"m2")]
    assert judged(attempts, deliveries) == (set(), (Cause.RESENT,))


def test_second_message_of_one_send_is_doubled() -> None:
    deliveries = [received(500), received(600, message_id=b"m2")]
    assert judged([sent()], deliveries) == ({Violation.DOUBLED}, (Cause.DOUBLED,))


def test_refused_attempt_does_not_excuse_a_second_message() -> None:
    attempts = [sent(RequestOutcome.REFUSED), sent()]
    deliveries = [received(500), received(600, message_id=b"m2")]
    assert judged(attempts, deliveries)[0] == {Violation.DOUBLED}


def test_fifo_queue_makes_one_message_of_a_repeated_send() -> None:
    attempts = [sent(RequestOutcome.UNKNOWN), sent(message_id=b"m2")]
    deliveries = [received(500), received(600, message_id=b"m2")]
    judgement = judge(attempts, deliveries, EXACT, deduplicated=True)
    assert judgement.faults == {Violation.DOUBLED}


def test_fifo_queue_may_forget_a_send_after_the_interval() -> None:
    late = msgspec.structs.replace(
        sent(message_id=b"m2"), sent_us=DEDUPLICATION_US, answered_us=DEDUPLICATION_US + 1
    )
    deliveries = [received(500), received(DEDUPLICATION_US + 600, message_id=b"m2")]
    judgement = judge([sent(RequestOutcome.UNKNOWN), late], deliveries, EXACT, deduplicated=True)
    assert judgement.causes == (Cause.RESENT,)


def test_message_may_come_again_when_its_lease_has_ended() -> None:
    deliveries = [received(500), received(500 + LEASE_US)]
    assert judged([sent()], deliveries) == (set(), (Cause.TIMED_OUT,))


def test_message_received_during_another_lease_has_collided() -> None:
    early = received(500 + LEASE_US - 11)
    assert judged([sent()], [received(500), early]) == ({Violation.COLLIDED}, (Cause.COLLIDED,))


def test_lease_may_begin_with_the_millisecond_in_which_it_was_asked() -> None:
    early = received(500 + LEASE_US - 1_000)
    assert judged([sent()], [received(500), early], Slack())[0] == set()


def test_message_received_after_its_acknowledged_settle_is_returned() -> None:
    deliveries = [received(500, settled_us=900), received(901)]
    assert judged([sent()], deliveries) == ({Violation.RETURNED}, (Cause.RETURNED,))


def test_receive_that_was_under_way_during_the_settle_may_have_leased_before_it() -> None:
    late_settle = received(500, settled_us=LEASE_US + 900)
    under_way = received(LEASE_US + 800, received_us=LEASE_US + 1_000)
    assert judged([sent()], [late_settle, under_way]) == (set(), (Cause.TIMED_OUT,))


@pytest.mark.parametrize(
    "outcome", [RequestOutcome.UNKNOWN, RequestOutcome.REFUSED, RequestOutcome.NONE]
)
def test_settle_that_was_not_acknowledged_does_not_forbid_another_receive(
    outcome: RequestOutcome,
) -> None:
    first = received(500, settled_us=900, outcome=outcome)
    assert judged([sent()], [first, received(LEASE_US + 501)])[0] == set()


def test_message_that_was_neither_acknowledged_nor_received_counts_for_nothing() -> None:
    assert not judge([sent(RequestOutcome.UNKNOWN)], [], EXACT).stored
    assert judge([sent(RequestOutcome.UNKNOWN)], [received(500)], EXACT).stored
    assert judge([sent()], [], EXACT).stored


def named(
    attempts: list[SendRecord], deliveries: list[ReceiveRecord], *ids: bytes
) -> set[Violation]:
    return set(judge(attempts, deliveries, EXACT, named=frozenset(ids)).faults)


def test_loss_that_the_service_reports_is_counted_as_named() -> None:
    assert named([sent()], [], b"m1") == {Violation.NAMED}
    assert named([sent()], [], b"m2") == {Violation.LOST}


def test_loss_of_another_copy_than_the_named_one_is_a_loss() -> None:
    attempts = [sent(), sent(message_id=b"m2")]
    assert named(attempts, [], b"m1") == {Violation.LOST}
    assert named(attempts, [received(500)], b"m2") == {Violation.NAMED}


def test_return_that_the_service_reports_is_counted_as_named() -> None:
    deliveries = [received(500, settled_us=900), received(2_000)]
    assert named([sent()], deliveries, b"m1") == {Violation.NAMED}
    assert named([sent()], deliveries, b"m2") == {Violation.RETURNED}
