"""The values of arguments: functions that parse a text or refuse it with a reason."""

import argparse
import os
from pathlib import Path
from typing import Final

from dovemq.core import limits
from dovemq.core.locations import Location, LocationInvalid, parse_location

_UNITS_MS: Final = {
    "s": limits.SECOND_MS,
    "m": limits.MINUTE_MS,
    "h": limits.HOUR_MS,
    "d": limits.DAY_MS,
}


def queue(text: str) -> str:
    """A queue as NAME, ACCOUNT/NAME or URL."""
    parts = text.partition("://")[2].split("/")[1:] if "://" in text else text.split("/")
    if not all(parts) or not 1 <= len(parts) <= 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME, ACCOUNT/NAME or URL of a queue")
    return text


def count(text: str) -> int:
    """A whole number of at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def number(text: str) -> int:
    """A whole number of at least zero."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def duration_ms(text: str) -> int:
    """Milliseconds of a duration such as `90d`, `24h`, `30m` or `45s`."""
    amount, unit = text[:-1], text[-1:]
    if not (amount.isascii() and amount.isdecimal()) or unit not in _UNITS_MS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90d, 24h, 30m or 45s")
    return int(amount) * _UNITS_MS[unit]


def pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def existing_file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is not a file")
    return path


def output_file(text: str) -> Path:
    """A path that a command can write to, checked before the work starts.

    The directory must exist and be writable. A file that exists may be replaced.
    """
    path = Path(text)
    folder = path.parent
    if path.is_dir():
        found = f"{text!r} is a directory; name a file in it"
    elif not folder.is_dir():
        found = f"{text!r} cannot be written: there is no directory {str(folder)!r}; create it"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        found = f"{text!r} cannot be written: permission denied; name another place"
    else:
        return path
    raise argparse.ArgumentTypeError(found)


def check_directory(path: Path) -> None:
    """Checks that a directory can be written to, or created below one that can."""
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise argparse.ArgumentTypeError(f"'{existing}' is not a directory; name another place")
    if not os.access(existing, os.W_OK):
        raise argparse.ArgumentTypeError(
            f"'{path}' cannot be written: permission denied; name another place"
        )


def new_directory(text: str) -> Path:
    """A directory that is empty, or that does not exist and can be created."""
    path = Path(text)
    check_directory(path)
    if path.exists() and any(path.iterdir()):
        raise argparse.ArgumentTypeError(f"{text!r} is not empty; name a new directory")
    return path


def location(text: str) -> Location:
    try:
        return parse_location(text)
    except LocationInvalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None
