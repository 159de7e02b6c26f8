"""The subset of HOCON: objects, lists, text, keys, comments, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.cli.hocon import HoconInvalid, parse_hocon


def root(text: str) -> dict[str, Any]:
    return parse_hocon(text).root


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("a = 1", {"a": "1"}),
        ("a : 1, b = two words  // why\nc=3 # also", {"a": "1", "b": "two words", "c": "3"}),
        ("a { b { c = 1 } }", {"a": {"b": {"c": "1"}}}),
        ("a {\n}\n\n,b {}", {"a": {}, "b": {}}),
        ("{ a = 1 }", {"a": "1"}),
        ('{"a": {"b": "c"}, "d": [1, true]}', {"a": {"b": "c"}, "d": ["1", "true"]}),
        ("a.b.c = 1\na.d = 2", {"a": {"b": {"c": "1"}, "d": "2"}}),
        ('"a.b" { c = 1 }\nx."y.z" = 2', {"a.b": {"c": "1"}, "x": {"y.z": "2"}}),
        ("a { b = 1 }\na { c = 2, b = 3 }", {"a": {"b": "3", "c": "2"}}),
        ("a = { b = 1 }\na = 2", {"a": "2"}),
        ('a = "// no # comment"', {"a": "// no # comment"}),
        (r'a = "\"\\\n\u00e9"', {"a": '"\\\né'}),
        ('a = """x "y"\nz"""', {"a": 'x "y"\nz'}),
        ("a = [\n  1\n  2,\n  {b = 3}\n]", {"a": ["1", "2", {"b": "3"}]}),
        ("a =\n  1", {"a": "1"}),
        ("a = jdbc:h2:mem", {"a": "jdbc:h2:mem"}),
        ("a = ${?HOST}:1", {"a": "${?HOST}:1"}),
        ("a-b_c = 1", {"a-b_c": "1"}),
    ],
)
def test_text_is_read_as_nested_values(text: str, expected: dict[str, Any]) -> None:
    assert root(text) == expected


def test_includes_are_listed_and_not_followed() -> None:
    found = parse_hocon('include classpath("application.conf")\ninclude "more.conf"\na = 1')
    assert found.includes == ['classpath("application.conf")', '"more.conf"']
    assert found.root == {"a": "1"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a {\n b = 1\n", 3),
        ("a = 1\n}", 2),
        ("a", 1),
        ("\na = ", 2),
        ("a = [1, 2", 1),
        ("a += 1", 1),
        ("a = {b = 1} c", 1),
        ("= 1", 1),
        ("a..b = 1", 1),
        ('\n\na = "x', 3),
        ("a = 1 = 2", 1),
        ("a = " + "{a = " * 100, 1),
    ],
)
def test_refusal_names_the_line(text: str, line: int) -> None:
    with pytest.raises(HoconInvalid) as caught:
        parse_hocon(text)
    assert caught.value.line == line


def read_or_refused(text: str) -> dict[str, Any] | int:
    try:
        return root(text)
    except HoconInvalid as error:
        return error.line


@given(st.text(alphabet='ab.=:{}[],"#/\\+$\n 1', max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    found = read_or_refused(text)
    assert isinstance(found, dict) or 1 <= found <= text.count("\n") + 1
