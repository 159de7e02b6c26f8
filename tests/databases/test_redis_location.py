"""The URL of a Redis Cluster."""

import pytest

from dovemq.settings import SettingInvalid
from dovemq.stores.redis_cluster.location import RedisLocation, parse_redis_url

SECRET = "hunter2"


def test_url_of_a_cluster_names_several_servers() -> None:
    assert parse_redis_url("redis://a:7000,b.example:7001,c?wait=1") == RedisLocation(
        addresses=(("a", 7000), ("b.example", 7001), ("c", 6379)), wait=1
    )


def test_address_of_version_6_stands_in_brackets() -> None:
    location = parse_redis_url("redis://[::1]:7000,[fe80::2]")
    assert location.addresses == (("::1", 7000), ("fe80::2", 6379))
    assert str(location) == "redis://[::1]:7000,[fe80::2]:6379"


def test_user_and_password_are_decoded() -> None:
    location = parse_redis_url("redis://dove%40home:p%2Fa%3As@a")
    assert (location.user, location.password) == ("dove@home", "p/a:s")


def test_password_may_stand_without_a_user() -> None:
    location = parse_redis_url(f"redis://:{SECRET}@a")
    assert (location.user, location.password) == (None, SECRET)


def test_tls_takes_its_files_and_what_is_verified() -> None:
    url = "rediss://a:1?ca=/etc/ca.pem&cert=c.pem&key=k.pem&verify=ca&prefix=other&connections=7"
    location = parse_redis_url(url)
    assert location.tls == {
        "ca": "/etc/ca.pem",
        "cert": "c.pem",
        "key": "k.pem",
        "verify": "ca",
    }
    assert (location.prefix, location.connections) == ("other", 7)
    assert parse_redis_url("rediss://a").tls == {}
    assert parse_redis_url("redis://a/").tls is None


def test_location_is_shown_without_user_and_password() -> None:
    location = parse_redis_url(f"rediss://dove:{SECRET}@a:1,b:2?wait=2&prefix=x&ca=f")
    assert str(location) == "rediss://a:1,b:2?wait=2&prefix=x"
    assert SECRET not in repr(location)


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis://", "not a URL"),
        ("redis:a:1", "not a URL"),
        ("valkey://a:1", "not a URL"),
        ("redis://a:1/3", "not a URL"),
        ("redis://a:1#x", "not a URL"),
        ("redis://a b:1", "is not a host with a port"),
        ("redis://a:1,,b:2", "is not a host"),
        ("redis://a:0", "is not a host"),
        ("redis://a:65536", "is not a host"),
        ("redis://[x]:1", "is not a host"),
        ("redis://dove@a", "no password"),
        ("redis://dove:@a", "no password"),
        ("redis://a?wait", "name=value"),
        ("redis://a?wait=", "'wait' is empty"),
        ("redis://a?wait=-1", "wait=-1; use 0 to 5"),
        ("redis://a?wait=6", "wait=6; use 0 to 5"),
        ("redis://a?wait=1&wait=2", "twice"),
        ("redis://a?waits=1", "unknown parameter 'waits'; use wait, prefix"),
        ("redis://a?connections=0", "use 1 to 1000"),
        ("redis://a?prefix={x}", "prefix={x}"),
        ("redis://a?ca=file", "'ca' is for TLS; write rediss://"),
        ("rediss://a?key=file", "'key' stands without 'cert'"),
        ("rediss://a?verify=none", "verify=none; use full or ca"),
    ],
)
def test_wrong_url_is_refused_with_the_remedy(url: str, text: str) -> None:
    with pytest.raises(SettingInvalid) as told:
        parse_redis_url(url)
    assert text in str(told.value)


def test_refusal_does_not_show_the_password() -> None:
    for url in (
        f"redis://:{SECRET}@a?wait=x",
        f"redis://:{SECRET}@",
        f"redis:/u:{SECRET}@a",
        f"redis://u:{SECRET}",
        f"redis://u:{SECRET}@b@a",
    ):
        with pytest.raises(SettingInvalid) as told:
            parse_redis_url(url)
        assert SECRET not in str(told.value)
