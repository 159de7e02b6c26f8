"""A queue without an owner refuses what needs one; receipts have the end of their lease."""

import pytest

from dovemq.core.commands import Receipt
from dovemq.core.coordination import check_known
from dovemq.core.errors import InvalidAttribute, InvalidValue, ReceiptInvalid
from dovemq.core.queue import Queue, QueueKey, QueueSettings, changed_settings, settings_with
from dovemq.core.receipts import ReceiptCodec
from dovemq.core.sending import new_draft


@pytest.mark.parametrize(
    ("field", "value"),
    [("group_concurrency", 2), ("group_rate_per_second", 2), ("partitions", 2), ("auto", True)],
)
@pytest.mark.parametrize("coordination", ["none", "serial"])
def test_what_needs_an_owner_is_refused(coordination: str, field: str, value: object) -> None:
    with pytest.raises(InvalidAttribute) as found:
        settings_with(QueueSettings(), {"coordination": coordination, field: value})
    assert f"Coordination={coordination} has no owner" in str(found.value)


def test_fifo_queue_needs_an_owner() -> None:
    with pytest.raises(InvalidAttribute, match="the order of groups"):
        settings_with(QueueSettings(fifo=True), {"coordination": "none"})


def test_coordination_cannot_change() -> None:
    with pytest.raises(InvalidAttribute, match="cannot change"):
        changed_settings(QueueSettings(coordination="none"), {"coordination": "lease"})


def test_hidden_messages_are_drawn_without_an_owner_only() -> None:
    with pytest.raises(InvalidAttribute, match="none or serial"):
        settings_with(QueueSettings(), {"receive_draw": "literal"})
    changes = {"coordination": "none", "receive_draw": "literal"}
    assert settings_with(QueueSettings(), changes).receive_draw == "literal"


def test_store_names_the_coordination_that_it_has() -> None:
    check_known("lease", ("lease",))
    with pytest.raises(InvalidAttribute, match="only has Coordination=lease;"):
        check_known("none", ("lease",))


def test_message_with_a_group_is_refused_without_an_owner() -> None:
    settings = QueueSettings(coordination="serial")
    queue = Queue(1, QueueKey("000000000000", "jobs"), settings, 0, 0)
    with pytest.raises(InvalidValue, match="no fairness"):
        new_draft(queue, message_id="m", body="b", sender="s", group="g")


def test_receipt_with_the_end_of_its_lease_is_read_back() -> None:
    codec = ReceiptCodec(b"key")
    receipt = Receipt(3, 0, (1 << 63) - 1, 2, 1_500, 31_500)
    text = codec.encode(receipt)
    assert codec.decode(text, 3) == receipt
    for changed in (f"B{text[1:]}", text[:-4], text + "AAAA"):
        with pytest.raises(ReceiptInvalid):
            codec.decode(changed, 3)
    with pytest.raises(ReceiptInvalid):
        codec.decode(text, 4)
    with pytest.raises(ReceiptInvalid):
        ReceiptCodec(b"another").decode(text, 3)
