"""Repeated attempts: what is kept, and that it does not grow."""

from dovemq.core.commands import Lease, Receipt
from dovemq.core.message import Message
from dovemq.service.attempts import BODIES_LENGTH_MAX, Attempts, Delivery

NOW_MS = 1_700_000_000_000


def delivery(sequence: int, body: str = "x") -> Delivery:
    message = Message(f"m{sequence}", sequence, body, NOW_MS, "000000000000")
    receipt = Receipt(1, 0, sequence, 1, NOW_MS)
    return Delivery(Lease(message, receipt, 1, NOW_MS), f"receipt-{sequence}")


def test_attempt_id_used_again_leaves_nothing_of_its_first_use() -> None:
    attempts = Attempts()
    attempts.remember((1, "me"), [delivery(1)], NOW_MS)
    attempts.remember((1, "me"), [delivery(2)], NOW_MS)
    attempts.touched(["receipt-1"])
    assert attempts.recall((1, "me"), NOW_MS) == (delivery(2),)
    attempts.touched(["receipt-2"])
    assert attempts.recall((1, "me"), NOW_MS) == ()


def test_oldest_attempts_go_when_the_bodies_are_too_long_together() -> None:
    attempts = Attempts()
    body = "x" * (BODIES_LENGTH_MAX // 2)
    for number in range(3):
        attempts.remember((1, f"t{number}"), [delivery(number, body)], NOW_MS)
    kept = [bool(attempts.recall((1, f"t{number}"), NOW_MS)) for number in range(3)]
    assert kept == [False, True, True]
