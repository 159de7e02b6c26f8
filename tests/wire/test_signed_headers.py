"""The canonical form of signed headers, for all names and values."""

import pytest

from dovemq.sqs.canonical import SignedHeaders


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ("plain", "plain"),
        ("  a  b\t c ", "a b c"),
        ("name: value", "name: value"),
        ("100 %s %d %%", "100 %s %d %%"),
        ("", ""),
    ],
)
def test_value_has_single_spaces_and_is_else_as_it_came(value: str, canonical: str) -> None:
    signed = SignedHeaders(["host", "x-note"])
    text = signed.canonical({"host": "h", "x-note": value, "unsigned": "u"})
    assert text == f"host:h\nx-note:{canonical}\n\nhost;x-note"


def test_name_may_hold_any_character() -> None:
    assert SignedHeaders(["%s", "host"]).canonical({"%s": "1", "host": "h"}) == (
        "%s:1\nhost:h\n\n%s;host"
    )


def test_header_that_did_not_come_is_empty() -> None:
    assert SignedHeaders(["host"]).canonical({}) == "host:\n\nhost"
