"""Locations of files: paths, URIs, and refused texts that are not shown."""

from pathlib import Path

import pytest

from dovemq.core.locations import LocationInvalid, parse_location


def test_text_without_a_scheme_is_a_path_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nobody")
    assert parse_location("trace").directory == Path("trace")
    assert parse_location("~/trace").directory == Path("/nobody/trace")
    assert parse_location("a:b@c").directory == Path("a:b@c")


def test_file_uri_is_a_path_on_this_machine() -> None:
    assert parse_location("file:///tmp/a%20b").directory == Path("/tmp/a b")
    assert str(parse_location("FILE:///tmp/a")) == "/tmp/a"


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/prefix?endpoint_override=127.0.0.1:9000&scheme=http&region=us-east-1",
        "hdfs://user@namenode:8020/traces",
        "gs://anonymous@bucket/prefix",
        "abfss://container@account.dfs.core.windows.net/prefix",
    ],
)
def test_uri_of_another_file_system_is_kept_as_it_is(text: str) -> None:
    found = parse_location(text)
    assert found.directory is None
    assert (str(found), found.scheme) == (text, text.partition(":")[0])


@pytest.mark.parametrize(
    "text",
    [
        "s3://AKIA:SECRET@bucket/prefix",
        "s3://AKIA:SEC/RET@bucket/prefix",
        "s3://SECRET@bucket/prefix",
        "s3://bucket/prefix?secret_key=SECRET",
        "abfss://container:SECRET@account.dfs.core.windows.net/prefix",
        "abfss://container@account.dfs.core.windows.net/prefix?client_secret=SECRET",
        "abfss://container@account.dfs.core.windows.net/prefix?sv=1&sig=SECRET",
        "hdfs://user:SECRET@namenode/traces",
        "s3://[SECRET/prefix",
        "ftp://user:SECRET@host/",
    ],
)
def test_uri_with_a_secret_is_refused_and_the_secret_is_not_shown(text: str) -> None:
    with pytest.raises(LocationInvalid) as refused:
        parse_location(text)
    assert "SECRET" not in str(refused.value)
    assert "RET" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ftp://host/x", "ftp:// is not known; write one of abfs, abfss, gcs, gs, s3"),
        ("s3a://bucket/x", "write s3:// here"),
        ("", "empty"),
        ("file://host/x", "names no directory of this machine"),
        ("file:///", "names no directory of this machine"),
    ],
)
def test_place_that_cannot_be_is_refused_with_what_to_write(text: str, part: str) -> None:
    with pytest.raises(LocationInvalid, match=part):
        parse_location(text)
