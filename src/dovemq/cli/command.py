"""How a command is declared: its help with an example, its options, what it returns."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from dovemq.core import limits
from dovemq.core.errors import DoveError
from dovemq.core.locations import Location, LocationInvalid, parse_location

OK: Final = 0
FAILED: Final = 1
WRONG_USE: Final = 2
INTERRUPTED: Final = 130

_UNITS_MS: Final = {
    "s": limits.SECOND_MS,
    "m": limits.MINUTE_MS,
    "h": limits.HOUR_MS,
    "d": limits.DAY_MS,
}

Run = Callable[[argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class WrongUse(DoveError):
    """The command line makes no sense; the text says what would."""


class Interrupted(KeyboardInterrupt):
    """A signal of that number ended the command; `advice` says how to go on."""

    def __init__(self, number: int, advice: str = "") -> None:
        super().__init__(f"interrupted; {advice}" if advice else "interrupted")
        self.number = number

    @property
    def code(self) -> int:
        """As shells have it: 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + self.number


def add_command(
    commands: Commands, name: str, run: Run, summary: str, example: str
) -> argparse.ArgumentParser:
    parser = add_group(commands, name, summary, example)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)
    return parser


def add_group(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """A command that has commands of its own."""
    return commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_target(parser: argparse.ArgumentParser) -> None:
    """Options that say which server is meant."""
    group = parser.add_argument_group(
        "server", "Without these: AWS_ENDPOINT_URL_SQS and the AWS keys, else the local server."
    )
    group.add_argument("--endpoint-url", metavar="URL", help="SQS endpoint of the server")
    group.add_argument("--admin-url", metavar="URL", help="its admin API (default: port + 1)")
    group.add_argument("--data", metavar="DIR", help="data directory that holds its root key")
    group.add_argument("--port", metavar="N", help="its port on this machine")
    group.add_argument("--profile", metavar="NAME", help="access key of AWS's files")
    group.add_argument("--region", metavar="NAME", help="region of the signatures")
    add_ca_bundle(group)


def add_ca_bundle(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--ca-bundle", metavar="FILE", help="certificates to trust over https (AWS_CA_BUNDLE)"
    )


def count(text: str) -> int:
    """A whole number of at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def number(text: str) -> int:
    """A whole number of at least zero."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def duration_ms(text: str) -> int:
    """`90d`, `24h`, `30m` or `45s` in milliseconds."""
    amount, unit = text[:-1], text[-1:]
    if not (amount.isascii() and amount.isdecimal()) or unit not in _UNITS_MS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90d, 24h, 30m or 45s")
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


def location(text: str) -> Location:
    try:
        return parse_location(text)
    except LocationInvalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None
