"""`dovemq bridge mqtt`: what is checked before it connects, and how it says what is wrong."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from dovemq.cli import main

Command = Callable[..., str]

BROKER = ["--broker", "mqtt://127.0.0.1:1"]
ROUTE = ["--route", "a/#=readings"]


@pytest.fixture
def bridge(clean: None, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a wrong command, and returns what it says."""

    def run(*args: str) -> str:
        try:
            code = main(["bridge", "mqtt", *args])
        except SystemExit as end:
            code = int(str(end.code))
        assert code == 2
        return capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (ROUTE, "give the address of the broker"),
        (BROKER, "give --route FILTER=QUEUE"),
        ([*BROKER, "--route", "a/#"], "is not FILTER=QUEUE"),
        ([*BROKER, "--route", "a/#/b=readings"], "# stands alone"),
        ([*BROKER, *ROUTE, *ROUTE], "given twice"),
        ([*BROKER, *ROUTE, "--route", "+/b=readings"], "run a second bridge"),
        ([*BROKER, *ROUTE, "--unsubscribe", "a/#"], "a route needs this filter"),
        (["--broker", "http://127.0.0.1", *ROUTE], "mqtt://HOST"),
        (["--broker", "mqtt://127.0.0.1:x", *ROUTE], "mqtt://HOST"),
        ([*BROKER, *ROUTE, "--in-flight", "65536"], "must be 1 to 65535"),
        ([*BROKER, *ROUTE, "--session", "long"], "is not a duration"),
        ([*BROKER, *ROUTE, "--client-id", "x" * 65_536], "must have 1 to"),
        ([*BROKER, *ROUTE, "--broker-ca", __file__], "certificates need mqtts://"),
        (["--broker", "mqtts://a", *ROUTE, "--broker-key", __file__], "--broker-certificate"),
        (["--broker", "mqtts://a", *ROUTE, "--broker-ca", __file__], "no usable certificate"),
        ([*BROKER, *ROUTE, "--login", "/nowhere"], "cannot be read"),
    ],
)
def test_wrong_option_is_refused_before_anything_starts(
    args: list[str], found: str, bridge: Callable[..., str]
) -> None:
    assert found in bridge(*args)


def test_password_in_an_address_is_refused_and_not_repeated(bridge: Callable[..., str]) -> None:
    said = bridge("--broker", "mqtt://user:sesame@127.0.0.1", *ROUTE)
    assert "MQTT_PASSWORD" in said
    assert "sesame" not in said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("brokr = 'mqtt://a'", "unknown field `brokr`"),
        ("protocol = '4'", "Invalid enum value '4'"),
        ("[[route]]\nfilter = 'a'", "missing required field `queue`"),
        ("[[route]]\nfilter = 'a'\nqueue = 'q'\ngroup_level = 0", "counted from 1"),
        ("in_flight = 0\n[[route]]\nfilter = 'a'\nqueue = 'q'", "must be 1 to 65535"),
    ],
)
def test_wrong_file_is_refused_with_the_place(
    text: str, found: str, tmp_path: Path, bridge: Callable[..., str]
) -> None:
    file = tmp_path / "bridge.toml"
    file.write_text(text)
    said = bridge(str(file), *BROKER)
    assert found in said


def test_missing_package_is_named_with_the_line_that_installs_it(
    bridge: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "make setup EXTRAS=mqtt" in bridge(*BROKER, *ROUTE)


def test_queue_that_does_not_exist_is_named_with_a_remedy(dovemq: Command) -> None:
    for name in ("nowhere", "000000000000/nowhere"):
        said = dovemq("bridge", "mqtt", *BROKER, "--route", f"a/#={name}", code=1)
        assert f"queue {name}: does not exist; run `dovemq queue create nowhere`" in said


def test_server_that_is_away_ends_the_command_at_the_start(
    clean: None, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["bridge", "mqtt", *BROKER, *ROUTE, "--endpoint-url", "http://127.0.0.1:1"]
    assert main(args) == 1
    assert "is the server running?" in capsys.readouterr().err
