"""The URL of a Cassandra cluster."""

from pathlib import Path

import pytest

from dovemq.settings import SettingInvalid
from dovemq.stores.cassandra.location import CassandraLocation, CassandraTls, parse_cassandra_url

SECRET = "hunter2"


def test_short_url_has_the_usual_values() -> None:
    assert parse_cassandra_url("cassandra://h/k") == CassandraLocation(
        hosts=("h",),
        keyspace="k",
        port=9042,
        consistency="quorum",
        replication=3,
    )


def test_long_url_is_read_completely() -> None:
    url = (
        "cassandra://us%40er:p%2Fw%3A@h1,h2,[fe80::1]:9142/queues_2?consistency=all&replication=5"
        "&datacenter=eu-west.1&tls=on&ca=/c/ca.pem&cert=cert.pem&key=key.pem&verify=name"
    )
    assert parse_cassandra_url(url) == CassandraLocation(
        hosts=("h1", "h2", "fe80::1"),
        keyspace="queues_2",
        port=9142,
        user="us@er",
        password="p/w:",
        consistency="all",
        replication=5,
        datacenter="eu-west.1",
        tls=CassandraTls(Path("/c/ca.pem"), Path("cert.pem"), Path("key.pem"), "name"),
    )


@pytest.mark.parametrize("hosts", ["h1:7,h2:7", "h1:7,h2", "h1,h2:7"])
def test_port_may_stand_behind_any_host(hosts: str) -> None:
    location = parse_cassandra_url(f"cassandra://{hosts}/k")
    assert (location.hosts, location.port) == (("h1", "h2"), 7)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("redis://h/k", "not a URL of Cassandra"),
        ("cassandra://h", "not a URL of Cassandra"),
        ("cassandra:///k", "not a URL of Cassandra"),
        ("cassandra://h/k#part", "not a URL of Cassandra"),
        ("cassandra://h/", "'' cannot be a keyspace"),
        ("cassandra://h/K", "'K' cannot be a keyspace"),
        ("cassandra://h/k; DROP", "cannot be a keyspace"),
        ("cassandra://h,,i/k", "not a list of hosts"),
        ("cassandra://h:x/k", "not a list of hosts"),
        ("cassandra://h i/k", "not a list of hosts"),
        ("cassandra://h:1,i:2/k", "different ports"),
        ("cassandra://h:0/k", "port 0"),
        ("cassandra://h:70000/k", "port 70000"),
        ("cassandra://user@h/k", "without user and password"),
        ("cassandra://:pw@h/k", "without user and password"),
        ("cassandra://h/k?consistency=two", "consistency=two"),
        ("cassandra://h/k?replication=0", "replication=0"),
        ("cassandra://h/k?replication=x", "replication=x"),
        ("cassandra://h/k?datacenter=a'b", "datacenter=a'b"),
        ("cassandra://h/k?wait=1", "unknown parameter 'wait'"),
        ("cassandra://h/k?tls", "name=value"),
        ("cassandra://h/k?tls=", "'tls' is repeated or empty"),
        ("cassandra://h/k?tls=on&tls=off", "'tls' is repeated or empty"),
        ("cassandra://h/k?tls=yes", "tls=yes"),
        ("cassandra://h/k?tls=on", "tls=on without ca"),
        ("cassandra://h/k?ca=a", "'ca' is for TLS"),
        ("cassandra://h/k?tls=on&ca=a&cert=b", "one of cert and key is missing"),
        ("cassandra://h/k?tls=on&ca=a&verify=none", "verify=none"),
    ],
)
def test_wrong_url_is_refused_with_the_reason(url: str, found: str) -> None:
    with pytest.raises(SettingInvalid, match="store: ") as caught:
        parse_cassandra_url(url)
    assert found in str(caught.value)


def test_location_is_shown_without_the_password() -> None:
    location = parse_cassandra_url(f"cassandra://user:{SECRET}@h/k?replication=1")
    assert str(location) == repr(location) == "cassandra://h/k"


@pytest.mark.parametrize("rest", ["h/k?wait=1", "h:x/k", "h/K", "h"])
def test_error_does_not_show_the_password(rest: str) -> None:
    with pytest.raises(SettingInvalid) as caught:
        parse_cassandra_url(f"cassandra://user:{SECRET}@{rest}")
    assert SECRET not in str(caught.value)
