"""Wildcards and variables of policies, compared with a matcher that tries everything."""

import functools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dovemq.sqs.patterns import read_arn, read_pattern

VARIABLES = frozenset(("aws:principalaccount", "aws:requestedregion"))
VALUES = {"aws:principalaccount": "123456789012", "aws:requestedregion": "eu*"}


def brute_force(pattern: str, text: str) -> bool:
    @functools.cache
    def rest(p: int, t: int) -> bool:
        if p == len(pattern):
            return t == len(text)
        if pattern[p] == "*":
            return any(rest(p + 1, each) for each in range(t, len(text) + 1))
        return t < len(text) and pattern[p] in ("?", text[t]) and rest(p + 1, t + 1)

    return rest(0, 0)


def matches(pattern: str, text: str, *, wildcards: bool = True, any_case: bool = False) -> bool:
    read = read_pattern(pattern, wildcards=wildcards, variables=VARIABLES, any_case=any_case)
    return read.matches(text, VALUES.__getitem__)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.text("ab*?", max_size=12), st.text("ab", max_size=12))
@example("", "")
@example("*", "")
@example("a*?b", "ab")
@example("*ab?", "aabb")
@example("a*a", "a")
def test_wildcards_match_what_trying_everything_finds(pattern: str, text: str) -> None:
    assert matches(pattern, text) == brute_force(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("${aws:PrincipalAccount}", "123456789012", True),
        ("${AWS:principalaccount}-*", "123456789012-jobs", True),
        ("${aws:PrincipalAccount}", "123456789013", False),
        ("${aws:RequestedRegion}", "eu*", True),
        ("${aws:RequestedRegion}", "eu-west-1", False),
        ("a${*}b", "a*b", True),
        ("a${*}b", "axb", False),
        ("a${?}b${$}", "a?b$", True),
        ("5$ and {more}", "5$ and {more}", True),
    ],
)
def test_variables_stand_for_values_and_never_for_wildcards(
    pattern: str, text: str, expected: bool
) -> None:
    assert matches(pattern, text) is expected


def test_wildcards_mean_themselves_where_there_are_none() -> None:
    assert matches("a*", "a*", wildcards=False)
    assert not matches("a*", "ab", wildcards=False)


def test_case_counts_unless_it_is_ignored() -> None:
    assert not matches("Send*", "sendmessage")
    assert matches("Send*", "sENDmessage", any_case=True)


@pytest.mark.parametrize("text", ["${aws:SourceIp}", "${}", "${aws:username, 'nobody'}", "a${b"])
def test_variable_that_cannot_be_filled_in_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no variable|not closed"):
        read_pattern(text, wildcards=True, variables=VARIABLES)


def test_without_variables_a_dollar_is_a_dollar() -> None:
    read = read_pattern("${aws:*}", wildcards=True)
    assert read.matches("${aws:anything}", str)


@pytest.mark.parametrize(
    ("pattern", "arn", "expected"),
    [
        ("arn:aws:sqs:mars:123456789012:jobs", "arn:aws:sqs:mars:123456789012:jobs", True),
        ("arn:aws:sqs:*:*:jobs*", "arn:aws:sqs:us-east-1:123456789012:jobs-2", True),
        ("arn:aws:sqs:*:jobs", "arn:aws:sqs:us-east-1:123456789012:jobs", False),
        ("arn:aws:sqs", "arn:aws:sqs:us-east-1:123456789012:jobs", True),
        ("arn:aws:sqs:eu*", "arn:aws:sqs:us-east-1:123456789012:jobs", False),
        ("arn:aws:sqs:*:${aws:PrincipalAccount}:*", "arn:aws:sqs:x:123456789012:jobs", True),
        ("arn:*:*:*:*:*", "arn:aws:sqs:us-east-1", False),
        ("arn:aws:sns:*:*:a:b", "arn:aws:sns:x:y:a:b", True),
    ],
)  # fmt: skip
def test_parts_of_an_arn_are_matched_one_by_one(pattern: str, arn: str, expected: bool) -> None:
    read = read_arn(pattern, variables=VARIABLES, shortened=True)
    assert read.matches(arn, VALUES.__getitem__) is expected


@pytest.mark.parametrize("text", ["", "jobs", "arn:aws", "*", "https://example.org/a:b:c:d:e:f"])
def test_text_that_is_no_arn_matches_nothing(text: str) -> None:
    pattern = read_arn(text, variables=None, shortened=True)
    for arn in ("arn:aws:sqs:us-east-1:123456789012:jobs", text):
        assert not pattern.matches(arn, VALUES.__getitem__)


def test_whole_arn_has_six_parts() -> None:
    text = "arn:aws:sqs:us-east-1:123456789012"
    pattern = read_arn(text, variables=None, shortened=False)
    assert not pattern.matches(f"{text}:jobs", VALUES.__getitem__)
