"""Operators of conditions, with and without a value in the request."""

from typing import Any

import msgspec
import pytest

from dovemq.sqs.conditions import OPERATORS, Condition, read_condition
from dovemq.sqs.context import ABSENT, KEYS, VARIABLES, address_of
from tests.unit.policy_world import FRIEND, NOW_MS, asked, queue

NOW = NOW_MS // 1_000


def condition(operator: str, key: str, *values: str) -> Condition:
    return read_condition(operator, key, values, VARIABLES)


def holds(operator: str, key: str, *values: str, **context: Any) -> bool:
    return condition(operator, key, *values).holds(asked(**context))


TABLE = [
    ("StringEquals", "aws:PrincipalAccount", FRIEND, True),
    ("StringEquals", "AWS:principalACCOUNT", FRIEND, True),
    ("StringEquals", "aws:UserAgent", "BOTO3/1.40", False),
    ("StringEquals", "aws:UserAgent", "boto3/*", False),
    ("StringEquals", "aws:PrincipalArn", "arn:aws:iam::${aws:PrincipalAccount}:root", True),
    ("StringEquals", "aws:SecureTransport", "false", True),
    ("StringEquals", "aws:ResourceTag/Team", "blue", True),
    ("StringEquals", "aws:resourcetag/team", "red", False),
    ("StringEquals", "aws:PrincipalType", "Account", True),
    ("StringEquals", "aws:RequestedRegion", "us-east-1", True),
    ("StringNotEquals", "aws:UserAgent", "curl", True),
    ("StringNotEquals", "aws:UserAgent", "boto3/1.40", False),
    ("StringEqualsIgnoreCase", "aws:UserAgent", "BOTO3/1.40", True),
    ("StringNotEqualsIgnoreCase", "aws:UserAgent", "BOTO3/1.40", False),
    ("StringLike", "aws:UserAgent", "boto3/*", True),
    ("StringLike", "aws:Referer", "http://example.???/*", True),
    ("StringNotLike", "aws:UserAgent", "boto3/*", False),
    ("NumericEquals", "aws:EpochTime", f"{NOW}.0", True),
    ("NumericNotEquals", "aws:EpochTime", str(NOW), False),
    ("NumericLessThan", "aws:EpochTime", str(NOW), False),
    ("NumericLessThanEquals", "aws:EpochTime", str(NOW), True),
    ("NumericGreaterThan", "aws:EpochTime", "1e3", True),
    ("NumericGreaterThanEquals", "aws:EpochTime", str(NOW + 1), False),
    ("DateEquals", "aws:CurrentTime", "2023-11-14T22:13:20Z", True),
    ("DateNotEquals", "aws:CurrentTime", "2023-11-14T22:13:20Z", False),
    ("DateLessThan", "aws:CurrentTime", "2023-11-14T23:00Z", True),
    ("DateLessThan", "aws:CurrentTime", "2023-11-14T23:00+02:00", False),
    ("DateLessThanEquals", "aws:EpochTime", str(NOW), True),
    ("DateGreaterThan", "aws:CurrentTime", "2023-11-14", True),
    ("DateGreaterThanEquals", "aws:CurrentTime", "2023-11-15", False),
    ("Bool", "aws:SecureTransport", "false", True),
    ("Bool", "aws:SecureTransport", "True", False),
    ("Bool", "aws:ViaAWSService", "false", True),
    ("IpAddress", "aws:SourceIp", "203.0.113.0/24", True),
    ("IpAddress", "aws:SourceIp", "203.0.113.9", True),
    ("IpAddress", "aws:SourceIp", "203.0.113.77/24", True),
    ("IpAddress", "aws:SourceIp", "2001:db8::/32", False),
    ("NotIpAddress", "aws:SourceIp", "203.0.113.0/24", False),
    ("NotIpAddress", "aws:SourceIp", "10.0.0.0/8", True),
    ("ArnEquals", "aws:PrincipalArn", "arn:aws:iam::*:root", True),
    ("ArnLike", "aws:PrincipalArn", "arn:aws:iam::${aws:PrincipalAccount}:root", True),
    ("ArnNotEquals", "aws:PrincipalArn", "arn:aws:iam::*:root", False),
    ("ArnNotLike", "aws:PrincipalArn", "arn:aws:iam::*:user/*", True),
    ("Null", "aws:SourceArn", "true", True),
    ("Null", "aws:SourceArn", "false", False),
    ("Null", "aws:SourceIp", "true", False),
    ("Null", "aws:SourceIp", "false", True),
    ("ForAnyValue:StringEquals", "aws:PrincipalAccount", FRIEND, True),
    ("ForAllValues:StringLike", "aws:UserAgent", "curl*", False),
]


@pytest.mark.parametrize(("operator", "key", "value", "expected"), TABLE)
def test_operator_compares_the_request_with_the_policy(
    operator: str, key: str, value: str, expected: bool
) -> None:
    assert holds(operator, key, value) is expected


def test_one_of_several_values_is_enough() -> None:
    assert holds("StringEquals", "aws:UserAgent", "curl", "boto3/1.40")
    assert not holds("StringNotEquals", "aws:UserAgent", "curl", "boto3/1.40")
    assert holds("StringNotEquals", "aws:UserAgent", "curl", "wget")


@pytest.mark.parametrize("operator", sorted(set(OPERATORS) - {"Null"}))
def test_key_that_is_not_there_matches_nothing(operator: str) -> None:
    value = {
        "Str": "a", "Num": "1", "Dat": "1", "Boo": "true", "Bin": "YQ==", "IpA": "10.0.0.1",
        "Not": "10.0.0.1", "Arn": "arn:aws:sns:a:b:c",
    }[operator[:3]]  # fmt: skip
    key = "aws:SourceArn" if operator.startswith("Arn") else "other:key"
    negated = "Not" in operator
    assert holds(operator, key, value) is negated
    assert holds(f"{operator}IfExists", key, value)
    assert holds(f"ForAllValues:{operator}", key, value)
    assert not holds(f"ForAnyValue:{operator}", key, value)
    assert holds(f"ForAnyValue:{operator}IfExists", key, value)


@pytest.mark.parametrize("key", [*ABSENT, "aws:PrincipalTag/x", "aws:ResourceTag/x", "s3:prefix"])
def test_keys_that_no_request_has_are_absent(key: str) -> None:
    assert holds("Null", key, "true")
    assert not holds("StringLike", key, "*")


def test_headers_that_were_not_sent_are_absent() -> None:
    assert holds("Null", "aws:UserAgent", "true", user_agent=None)
    assert holds("Null", "aws:Referer", "true", referer=None)
    assert holds("Null", "aws:SourceIp", "true", peer="")


def test_only_the_beginning_of_a_long_header_counts() -> None:
    assert holds("StringNotLike", "aws:UserAgent", "*b", user_agent="a" * 1_024 + "b")


def test_tags_that_differ_only_by_case_have_no_value() -> None:
    twice = msgspec.structs.replace(asked(), queue=queue(None, Team="blue", team="red"))
    assert twice.value("aws:resourcetag/team") is None


@pytest.mark.parametrize(
    ("operator", "key", "value", "reason"),
    [
        ("StringIs", "aws:UserAgent", "a", "StringIs is no condition operator"),
        ("stringequals", "aws:UserAgent", "a", "stringequals is no condition operator"),
        ("NullIfExists", "aws:UserAgent", "true", "NullIfExists is no condition operator"),
        ("ForAnyValue:Null", "aws:UserAgent", "true", "ForAnyValue:Null is no condition operator"),
        ("ForEach:Bool", "aws:ViaAWSService", "true", "ForEach:Bool is no condition operator"),
        ("Bool", "aws:SecureTransport", "yes", "yes is no value for Bool"),
        ("Null", "aws:UserAgent", "", " is no value for Null"),
        ("NumericEquals", "aws:EpochTime", "NaN", "NaN is no value for NumericEquals"),
        ("NumericEquals", "aws:EpochTime", "9" * 41, "is no value for NumericEquals"),
        ("NumericEquals", "aws:EpochTime", "one", "one is no value for NumericEquals"),
        ("DateLessThan", "aws:CurrentTime", "soon", "soon is no value for DateLessThan"),
        ("DateLessThan", "aws:CurrentTime", "1" * 41, "is no value for DateLessThan"),
        ("IpAddress", "aws:SourceIp", "10.0.0.*", "10.0.0.* is no value for IpAddress"),
        ("IpAddress", "aws:SourceIp", "10.0.0.0/33", "10.0.0.0/33 is no value for IpAddress"),
        ("BinaryEquals", "other:key", "?", "? is no value for BinaryEquals"),
        ("StringLike", "aws:UserAgent", "${aws:username}",
         "${aws:username} is no value for StringLike: ${aws:username} is no variable"),
        ("IpAddress", "aws:UserAgent", "10.0.0.1", "aws:UserAgent cannot be compared by IpAddress"),
        ("NumericLessThan", "aws:CurrentTime", "1",
         "aws:CurrentTime cannot be compared by NumericLessThan"),
        ("Bool", "aws:ResourceTag/a", "true", "aws:ResourceTag/a cannot be compared by Bool"),
        ("StringEquals", "aws:SourceIP4", "a", "the key aws:SourceIP4 is not known"),
        ("StringEquals", "sqs:Queue", "a", "the key sqs:Queue is not known"),
        ("StringEquals", "UserAgent", "a", "the key UserAgent is no condition key"),
        ("StringEquals", "aws:ResourceTag/", "a", "the key aws:ResourceTag/ is not known"),
        ("StringEquals", "aws:TagKeys", "a", "the key aws:TagKeys is not supported"),
        ("StringEquals", "aws:RequestTag/a", "a", "the key aws:RequestTag/a is not supported"),
    ],
)  # fmt: skip
def test_condition_that_cannot_be_judged_is_refused(
    operator: str, key: str, value: str, reason: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        condition(operator, key, value)
    assert reason in str(caught.value)


def test_every_key_has_a_value_that_its_operators_can_read() -> None:
    request = asked()
    for name, key in KEYS.items():
        value = request.value(name)
        assert value is not None
        for operator in OPERATORS.values():
            if key.kind in operator.suits and not operator.name.startswith("Null"):
                assert operator.read(value, None) is not None


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("203.0.113.9:5000", "203.0.113.9"),
        ("203.0.113.9", "203.0.113.9"),
        ("[2001:db8::1]:5000", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("[::ffff:203.0.113.9]:5000", "203.0.113.9"),
        ("[fe80::1%eth0]:5000", "fe80::1"),
        ("", None),
        ("peer", None),
    ],
)
def test_address_of_a_peer_has_no_port(peer: str, address: str | None) -> None:
    assert address_of(peer) == address
