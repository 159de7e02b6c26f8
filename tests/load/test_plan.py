"""Valid and invalid plans, and the bodies of messages."""

import random
from typing import Any

import pytest

from dovemq.core.access import AccessKey
from dovemq.load.contents import Filler, Label, crc32, is_intact, label_of
from dovemq.load.plan import BODY_BYTES_MIN, Endpoint, LoadPlan, Pauses, PlanInvalid

ENDPOINT = Endpoint("http://127.0.0.1:9324", AccessKey("AKIA", "hush-hush", ""))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"name": "a.b"}, "name must be"),
        ({"name": ""}, "name must be"),
        ({"name": "x" * 25}, "name must be"),
        ({"senders": 0}, "senders must be at least 1"),
        ({"messages": None}, "messages must be a number, unless"),
        ({"body_bytes": 10}, "body_bytes must be 64 to"),
        ({"body_bytes": 1 << 20}, "body_bytes must be 64 to"),
        ({"body_bytes": 120_000, "send_batch": 10}, "body_bytes must be 64 to"),
        ({"send_batch": 11}, "send_batch must be 1 to 10"),
        ({"receive_batch": 0}, "receive_batch must be 1 to 10"),
        ({"send_rate": 0.0}, "send_rate must be more than 0"),
        ({"wait_seconds": 20, "answer_ms_max": 5_000}, "answer_ms_max must be longer"),
        ({"processes": 9}, "processes must be at most"),
        ({"fifo": True, "resend": True, "send_batch": 2}, "send_batch must be 1 on FIFO"),
    ],
    ids=str,
)
def test_invalid_plan_is_refused(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(PlanInvalid, match=text):
        LoadPlan(endpoint=ENDPOINT, **{"name": "run", **fields})


def test_plan_shows_no_secret() -> None:
    assert "hush-hush" not in repr(LoadPlan(endpoint=ENDPOINT, name="run"))


def test_slow_receivers_are_waited_for() -> None:
    quick = LoadPlan(endpoint=ENDPOINT, name="run", lease_seconds=10)
    slow = LoadPlan(endpoint=ENDPOINT, name="run", lease_seconds=10, receive_pause_ms=60_000)
    rare = LoadPlan(endpoint=ENDPOINT, name="run", lease_seconds=10, receive_rate=0.5)
    assert (quick.drain_ms, slow.drain_ms, rare.drain_ms) == (25_000, 85_000, 65_000)


def test_pauses_that_are_drawn_may_be_long() -> None:
    drawn = LoadPlan(
        endpoint=ENDPOINT, name="run", receive_pause_ms=100, receive_pauses=Pauses.EXPONENTIAL
    )
    assert drawn.between_receives_ms == 2_000


def test_queue_names_contain_run_repetition_and_application() -> None:
    plan = LoadPlan(endpoint=ENDPOINT, name="run", fifo=True)
    assert plan.queue_name(2, 0) == "run-2-0.fifo"


@pytest.mark.parametrize("size", [BODY_BYTES_MIN, 65, 66, 67, 1_024, 200_000])
def test_body_has_its_size_label_and_checksum(size: int) -> None:
    label = Label("load-19a8b3c4d5e-1", 4_095, 1_000_000)
    body, checksum = Filler(size, random.Random(size)).body(label, size)
    assert len(body) == size
    assert checksum == crc32(body)
    assert label_of(body) == label
    assert is_intact(body)
    assert not is_intact(body[:-1] + "?")


def test_bodies_differ_and_go_by_the_seed() -> None:
    label = Label("run", 1, 1)
    bodies = [Filler(200, random.Random(seed)).body(label, 200) for seed in (1, 1, 2)]
    assert bodies[0] == bodies[1] != bodies[2]
