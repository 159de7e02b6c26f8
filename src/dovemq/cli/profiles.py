"""Access key and region of a named profile in the files of AWS's tools.

Only keys that are written in the files are found. Roles and single sign-on need AWS's own tools.
"""

import configparser
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from dovemq.cli.command import WrongUse


class Profile(Struct, frozen=True):
    key_id: str
    secret: str
    session_token: str | None
    region: str | None

    def __repr__(self) -> str:
        return f"Profile({self.key_id!r})"


def read_profile(name: str, environment: Mapping[str, str]) -> Profile:
    """Read a profile. The credentials file wins over the configuration file."""
    folder = Path.home() / ".aws"
    credentials = environment.get("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    configuration = environment.get("AWS_CONFIG_FILE", str(folder / "config"))
    section = name if name == "default" else f"profile {name}"
    found = {**_section(configuration, section), **_section(credentials, name)}
    if not found:
        raise WrongUse(f"profile {name} is neither in {credentials} nor in {configuration}")
    try:
        return Profile(
            found["aws_access_key_id"],
            found["aws_secret_access_key"],
            found.get("aws_session_token"),
            found.get("region"),
        )
    except KeyError as error:
        raise WrongUse(
            f"profile {name} has no {error.args[0]}; for a role or single sign-on run "
            f'eval "$(aws configure export-credentials --profile {name} --format env)"'
        ) from None


def _section(file: str, name: str) -> Mapping[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(Path(file).expanduser(), encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError):
        # The text of a parser's error shows lines of the file, which may hold a secret.
        raise WrongUse(f"{file} is not a file of profiles") from None
    return dict(parser[name]) if parser.has_section(name) else {}
