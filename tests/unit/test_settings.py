"""Precedence, refusals and the list of all settings."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from dovemq.configuration import Resolved, default_directory, resolve
from dovemq.settings import SettingInvalid, all_settings


def resolved(
    tmp_path: Path,
    text: str = "",
    environment: Mapping[str, str] | None = None,
    **flags: object,
) -> Resolved:
    file = tmp_path / "dovemq.toml"
    file.write_text(text)
    return resolve(flags, environment or {}, file)


def refusal(tmp_path: Path, text: str = "", environment: object = None, **flags: object) -> str:
    with pytest.raises(SettingInvalid) as caught:
        resolved(tmp_path, text, environment, **flags)  # type: ignore[arg-type]
    return str(caught.value)


def test_defaults_listen_on_loopback_with_signatures_checked() -> None:
    settings = resolve({}, {}).settings
    assert (settings.host, settings.port, settings.admin_port_chosen) == ("127.0.0.1", 9324, 9325)
    assert not settings.insecure_no_auth


def test_file_beats_default(tmp_path: Path) -> None:
    found = resolved(tmp_path, "port = 1000")
    assert found.settings.port == 1000
    assert found.source("port") == str(tmp_path / "dovemq.toml")


def test_environment_beats_file(tmp_path: Path) -> None:
    found = resolved(tmp_path, "port = 1000", {"DOVEMQ_PORT": "2000"})
    assert found.settings.port == 2000
    assert found.source("port") == "DOVEMQ_PORT"


def test_flag_beats_environment(tmp_path: Path) -> None:
    found = resolved(tmp_path, "port = 1000", {"DOVEMQ_PORT": "2000"}, port="3000")
    assert found.settings.port == 3000
    assert found.source("port") == "--port"


def test_flag_that_was_not_given_changes_nothing(tmp_path: Path) -> None:
    assert resolved(tmp_path, "port = 1000", None, port=None).settings.port == 1000


def test_value_that_nobody_set_is_a_default(tmp_path: Path) -> None:
    assert resolved(tmp_path).source("port") == "default"


def test_nested_settings_are_tables_in_the_file_and_long_names_elsewhere(tmp_path: Path) -> None:
    assert resolved(tmp_path, "[http]\nidle_seconds_max = 5").settings.http.idle_seconds_max == 5
    environment = {"DOVEMQ_HTTP_IDLE_SECONDS_MAX": "6"}
    assert resolved(tmp_path, "", environment).settings.http.idle_seconds_max == 6
    assert resolved(tmp_path, http_idle_seconds_max="7").settings.http.idle_seconds_max == 7


def test_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("port = 1234")
    assert resolve({}, {"DOVEMQ_CONFIG": str(file)}).settings.port == 1234


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("false", False)])
def test_switches_are_read_from_variables(text: str, value: bool) -> None:
    assert resolve({}, {"DOVEMQ_STRICT_AWS": text}).settings.strict_aws is value


def test_unknown_key_names_the_file_and_the_nearest_name(tmp_path: Path) -> None:
    text = refusal(tmp_path, "prot = 1")
    assert "dovemq.toml: prot: no such setting; did you mean port?" in text


def test_unknown_variable_is_refused(tmp_path: Path) -> None:
    text = refusal(tmp_path, "", {"DOVEMQ_PROT": "1"})
    assert text == "DOVEMQ_PROT: no such setting; did you mean DOVEMQ_PORT?"


SERVICE_LINKS = {
    "DOVEMQ_SERVICE_HOST": "10.1.2.3",
    "DOVEMQ_SERVICE_PORT": "9324",
    "DOVEMQ_SERVICE_PORT_SQS": "9324",
    "DOVEMQ_PORT": "tcp://10.1.2.3:9324",
    "DOVEMQ_PORT_9324_TCP": "tcp://10.1.2.3:9324",
    "DOVEMQ_PORT_9324_TCP_PROTO": "tcp",
    "DOVEMQ_PORT_9324_TCP_PORT": "9324",
    "DOVEMQ_PORT_9324_TCP_ADDR": "10.1.2.3",
    "DOVEMQ_ADMIN_SERVICE_HOST": "fd00::1",
    "DOVEMQ_ADMIN_SERVICE_PORT": "9325",
    "DOVEMQ_ADMIN_PORT": "tcp://[fd00::1]:9325",
    "DOVEMQ_ADMIN_PORT_9325_TCP_ADDR": "fd00::1",
    "DOVEMQ_FRONT_ENDS_PORT": "udp://10.1.2.4:53",
}
"""The variables that Kubernetes sets for three Services, whose names begin with `dovemq`."""


def test_variables_of_a_kubernetes_service_are_no_settings() -> None:
    found = resolve({}, SERVICE_LINKS)
    assert (found.settings.port, found.settings.admin_port_chosen) == (9324, 9325)
    assert not found.sources


def test_port_of_the_file_holds_beside_a_kubernetes_service(tmp_path: Path) -> None:
    assert resolved(tmp_path, "port = 1000", SERVICE_LINKS).settings.port == 1000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "http://10.1.2.3:9324"),
        ("PORT", "tcp://10.1.2.3"),
        ("PORT", "tcp://dovemq:9324"),
        ("SERVICE", "10.1.2.3"),
        ("SERVICE_HOSTS", "10.1.2.3"),
        ("PORT_9324", "tcp://10.1.2.3:9324"),
        ("PORT_9324_TCP_HOST", "10.1.2.3"),
        ("PORT_X_TCP", "tcp://10.1.2.3:9324"),
    ],
)
def test_variable_that_kubernetes_does_not_set_is_refused(
    tmp_path: Path, name: str, value: str
) -> None:
    assert refusal(tmp_path, "", {f"DOVEMQ_{name}": value}).startswith(f"DOVEMQ_{name}: ")


def test_foreign_variables_are_left_alone() -> None:
    assert resolve({}, {"DOVE": "1", "PORT": "7"}).settings.port == 9324


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "70000"),
        ("PORT", "-1"),
        ("PORT", "http"),
        ("ADMIN_PORT", "65536"),
        ("ACCOUNT", "123"),
        ("ACCOUNT", "00000000000x"),
        ("STRICT_AWS", "perhaps"),
        ("REGION", "us east"),
        ("PUBLIC_URL", "example.test"),
        ("HTTP_IDLE_SECONDS_MAX", "0"),
        ("LOG_LEVEL", "loud"),
        ("DATA", ""),
        ("DRAIN_SECONDS", "1.5"),
    ],
)
def test_bad_value_names_the_variable_and_what_it_means(
    tmp_path: Path, name: str, value: str
) -> None:
    text = refusal(tmp_path, "", {f"DOVEMQ_{name}": value})
    assert text.startswith(f"DOVEMQ_{name}: {value!r} is not ")
    assert f"; {name.lower().replace('http_', 'http.')}: " in text


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("LOG_LEVEL", "loud", "one of debug, info, warning, error"),
        ("STRICT_AWS", "perhaps", "true or false"),
        ("PORT", "http", "a whole number of at least 0 and at most 65535"),
        ("ADMIN_PORT", "65536", "a whole number of at least 0 and at most 65535"),
        ("HTTP_IDLE_SECONDS_MAX", "0", "a whole number of at least 1"),
        ("DATA", "", "a path"),
    ],
)
def test_bad_value_is_answered_with_the_valid_ones(
    tmp_path: Path, name: str, value: str, expected: str
) -> None:
    assert f"{value!r} is not {expected}; " in refusal(tmp_path, "", {f"DOVEMQ_{name}": value})


def test_number_in_quotes_is_refused_in_the_file(tmp_path: Path) -> None:
    assert "port: '1000' is not a whole number" in refusal(tmp_path, 'port = "1000"')


def test_bad_flag_is_named_as_flag(tmp_path: Path) -> None:
    assert refusal(tmp_path, admin_port="x").startswith("--admin-port: ")


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match=r"none\.toml: No such file.*--config"):
        resolve({}, {}, tmp_path / "none.toml")


def test_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    assert "not TOML" in refusal(tmp_path, "port 1000")


def test_open_access_is_refused_beyond_loopback(tmp_path: Path) -> None:
    text = refusal(tmp_path, host="0.0.0.0", insecure_no_auth=True)
    assert text.startswith("--insecure-no-auth: 0.0.0.0 can be reached from other machines")


def test_open_access_is_refused_when_the_admin_api_is_beyond_loopback(tmp_path: Path) -> None:
    text = refusal(tmp_path, admin_host="192.0.2.1", insecure_no_auth=True)
    assert text.startswith("--insecure-no-auth: 192.0.2.1 can be reached from other machines")


def test_admin_api_listens_where_sqs_does_unless_told_otherwise(tmp_path: Path) -> None:
    assert resolved(tmp_path, host="::1").settings.admin_host_chosen == "::1"
    found = resolved(tmp_path, host="0.0.0.0", admin_host="127.0.0.1")
    assert found.settings.admin_host_chosen == "127.0.0.1"


def test_highest_port_is_allowed_without_an_admin_api(tmp_path: Path) -> None:
    assert not resolved(tmp_path, "port = 65535\nadmin = false").settings.admin


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_open_access_is_allowed_on_loopback(tmp_path: Path, host: str) -> None:
    found = resolved(tmp_path, host=host, insecure_no_auth=True)
    assert found.settings.insecure_no_auth


def test_both_listeners_cannot_share_a_port(tmp_path: Path) -> None:
    assert "is the SQS port" in refusal(tmp_path, "port = 99\nadmin_port = 99")


def test_highest_port_needs_an_admin_port(tmp_path: Path) -> None:
    assert "no port is left" in refusal(tmp_path, "port = 65535")


def test_free_port_is_picked_for_both_listeners(tmp_path: Path) -> None:
    assert resolved(tmp_path, port="0").settings.admin_port_chosen == 0


def test_data_lives_where_the_desktop_standard_says() -> None:
    assert default_directory({"XDG_DATA_HOME": "/srv/share"}) == Path("/srv/share/dovemq")
    home = Path.home() / ".local/share/dovemq"
    assert default_directory({}) == default_directory({"XDG_DATA_HOME": "relative"}) == home


def test_home_is_expanded_in_the_data_directory(tmp_path: Path) -> None:
    assert resolved(tmp_path, 'data = "~/mq"').settings.data == Path.home() / "mq"


def test_every_setting_has_help_a_default_and_names_of_its_own() -> None:
    settings = list(all_settings())
    assert all(setting.help and setting.default for setting in settings)
    assert len({setting.flag for setting in settings}) == len(settings)
    assert {setting.name for setting in settings} >= {"port", "data", "http.body_bytes_max"}


def test_every_setting_can_be_read_back_by_its_name() -> None:
    found = resolve({}, {})
    values = {setting.name: found.value(setting.name) for setting in all_settings()}
    assert values["http.connections_max"] == 10_000
