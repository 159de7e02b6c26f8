"""Claims without coordination: K trades order for duplicates, as the paper bdqs says."""

import math
from typing import Any

import pytest

from dovemq.models.consistency import Consistency
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.simulation.claims import ClaimedQueue, ClaimParameters, FixedHint

MESSAGES = 900


def drained(k: int, receivers: int, **changes: Any) -> Consistency:
    parameters = ClaimParameters(receivers, receivers, lag=0.005, backlog=MESSAGES, **changes)
    queue = ClaimedQueue(parameters, FixedHint(k), seed=k)
    queue.advance(math.inf)
    assert set(queue.received) == set(range(1, MESSAGES + 1)), "no message is left"
    return queue.consistency()


def test_one_receiver_gets_each_message_once_and_in_order() -> None:
    found = drained(1, 1)
    assert (found.duplicates, found.out_of_order, found.displacement) == (0, 0, 0)


def test_one_receiver_may_see_its_own_claim_late() -> None:
    """Replicas lag, so its next read may find the tuple that it has just claimed."""
    assert drained(1, 1, remembers=False, read=0.0001).duplicates > 0


def test_receivers_of_one_front_end_that_remembers_do_not_collide() -> None:
    parameters = ClaimParameters(8, 1, lag=0.005, backlog=MESSAGES)
    queue = ClaimedQueue(parameters, FixedHint(1), seed=1)
    queue.advance(math.inf)
    assert queue.consistency().duplicates == 0


@pytest.mark.parametrize("receivers", [2, 3])
def test_duplicates_fall_and_disorder_grows_with_k(receivers: int) -> None:
    found = [drained(k, receivers) for k in (1, 2, 3, 1_000)]
    duplicates = [each.duplication_rate for each in found]
    assert duplicates == sorted(duplicates, reverse=True)
    displacements = [each.average_displacement for each in found]
    assert displacements == sorted(displacements)
    assert displacements[0] < 0.1
    assert displacements[2] < 0.1 * displacements[3]


def test_messages_that_arrive_while_others_are_received_are_received() -> None:
    parameters = ClaimParameters(2, 2, backlog=0, arrivals=50.0, messages=300)
    queue = ClaimedQueue(parameters, FixedHint(2), seed=1)
    queue.advance(math.inf)
    assert set(queue.received) == set(range(1, 301))


def test_receivers_that_leave_finish_their_message_and_come_back() -> None:
    queue = ClaimedQueue(ClaimParameters(4, 4, work=0.1, backlog=10_000), FixedHint(8), seed=1)
    queue.advance(5.0)
    queue.resize(0)
    queue.advance(6.0)
    stopped = len(queue.received)
    queue.advance(8.0)
    assert len(queue.received) == stopped
    queue.resize(4)
    queue.advance(10.0)
    assert len(queue.received) > stopped


def test_invalid_parameters_are_named() -> None:
    with pytest.raises(ModelParameterInvalid, match="claim"):
        ClaimParameters(claim=0.0)
