"""The checks of a message beside those of its body."""

import pytest

from dovemq.core import limits
from dovemq.core.errors import InvalidMessageAttribute
from dovemq.core.message import Attribute
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.core.sending import check_attributes, new_draft


@pytest.mark.parametrize("text", ["7", "-7", "+.5", "1.", "1e-9", "0" * 40])
def test_numbers_may_be_written_in_these_ways(text: str) -> None:
    check_attributes({"n": Attribute("Number", text)})
    assert Attribute("Number", text).value == text


@pytest.mark.parametrize("text", ["nan", "inf", "1_000", " 7", "7 ", "0x7", "1e", ".", "٣"])
def test_other_text_is_no_number(text: str) -> None:
    with pytest.raises(InvalidMessageAttribute, match="to a number"):
        check_attributes({"n": Attribute("Number", text)})


def test_name_may_hold_letters_of_any_script_but_no_other_signs() -> None:
    check_attributes({"attr.1øßä": Attribute("String", "x")})
    with pytest.raises(InvalidMessageAttribute, match="name can only contain"):
        check_attributes({"a b": Attribute("String", "x")})


@pytest.mark.parametrize("custom", ["\x01", "\ud800", "\ufffe"])
def test_type_that_no_answer_could_carry_is_refused(custom: str) -> None:
    with pytest.raises(InvalidMessageAttribute, match="The type of"):
        check_attributes({"n": Attribute(f"String.{custom}", "x")})


@pytest.mark.parametrize("header", ["Root=\x01", "x" * (limits.XRAY_HEADER_LENGTH_MAX + 1)])
def test_xray_header_that_no_response_could_carry_is_refused(header: str) -> None:
    queue = Queue(1, QueueKey("000000000000", "q"), QueueSettings(), 0, 0)
    with pytest.raises(InvalidMessageAttribute):
        new_draft(queue, message_id="m", body="b", sender="s", xray_header=header)
