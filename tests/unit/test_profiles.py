"""Named profiles of AWS's files."""

from pathlib import Path

import pytest

from dovemq.cli.command import WrongUse
from dovemq.cli.profiles import Profile, read_profile

CREDENTIALS = """
[default]
aws_access_key_id = AKID
aws_secret_access_key = sec%ret
[session]
aws_access_key_id = ASIA
aws_secret_access_key = s
aws_session_token = token
[half]
aws_access_key_id = AKID
"""
CONFIGURATION = """
[default]
region = eu-west-1
[profile session]
region = eu-west-3
[profile whole]
aws_access_key_id = CONF
aws_secret_access_key = s
[profile sso]
sso_session = x
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "credentials").write_text(CREDENTIALS)
    (tmp_path / "config").write_text(CONFIGURATION)
    return {
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("default", Profile("AKID", "sec%ret", None, "eu-west-1")),
        ("session", Profile("ASIA", "s", "token", "eu-west-3")),
        ("whole", Profile("CONF", "s", None, None)),
    ],
)
def test_keys_and_region_of_a_profile_are_read(
    environment: dict[str, str], name: str, expected: Profile
) -> None:
    assert read_profile(name, environment) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nobody", "profile nobody is neither in"),
        ("sso", "profile sso has no aws_access_key_id; for a role or single sign-on"),
        ("half", "profile half has no aws_secret_access_key"),
    ],
)
def test_profile_without_keys_says_what_to_do(
    environment: dict[str, str], name: str, expected: str
) -> None:
    with pytest.raises(WrongUse, match=expected):
        read_profile(name, environment)


def test_no_secret_is_shown(environment: dict[str, str], tmp_path: Path) -> None:
    assert "sec%ret" not in repr(read_profile("default", environment))
    (tmp_path / "credentials").write_text("aws_secret_access_key = sec%ret")
    with pytest.raises(WrongUse) as caught:
        read_profile("default", environment)
    assert "sec%ret" not in str(caught.value)
