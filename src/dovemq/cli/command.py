"""The declaration of commands: help with an example, shared options, exit codes."""

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from dovemq.cli.values import queue
from dovemq.core.errors import DoveError

OK: Final = 0
FAILED: Final = 1
WRONG_USE: Final = 2
INTERRUPTED: Final = 130
EXIT_CODES: Final = {
    OK: "The command did what it was asked to do.",
    FAILED: "The server refused or could not be reached, a check failed, or the answer is no.",
    WRONG_USE: "The command line, a setting or an input file is wrong; nothing was done.",
    INTERRUPTED: "Ctrl-C ended the command. Other signals give 128 plus their number.",
}
FILE_BYTES_MAX: Final = 1 << 20

Run = Callable[[argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"


class WrongUse(DoveError):
    """The command line is wrong. The text says how to correct it."""


class Interrupted(KeyboardInterrupt):
    """The signal `number` ended the command. `advice` says how to continue."""

    def __init__(self, number: int, advice: str = "") -> None:
        super().__init__(f"interrupted; {advice}" if advice else "interrupted")
        self.number = number

    @property
    def code(self) -> int:
        """The exit code by the convention of shells: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.number


class Options(argparse._ActionsContainer):
    """Short forms for the declaration of options, in a parser or in a group of its options.

    A help text ends with the default, if there is one.
    """

    def option(
        self,
        flag: str,
        metavar: str,
        help: str,
        type: Callable[[str], object] = str,
        default: object = None,
        **more: Any,
    ) -> None:
        """Add an option with a value.

        A default that is a text is converted by `type`, as if it were given on the command line.
        `more` goes to `add_argument`.
        """
        text = f"{help}{_default_text(default)}"
        self.add_argument(flag, metavar=metavar, type=type, default=default, help=text, **more)

    def choice(
        self, flag: str, choices: Sequence[str], help: str, default: str | None = None
    ) -> None:
        """Add an option whose value is one of `choices`."""
        text = f"{help}{_default_text(default)}"
        self.add_argument(flag, choices=choices, default=default, help=text)

    def repeated(
        self,
        flag: str,
        metavar: str,
        help: str,
        type: Callable[[str], object] = str,
        **more: Any,
    ) -> None:
        """Add an option whose values are collected in a list."""
        text = f"{help}; may be repeated"
        self.add_argument(
            flag, metavar=metavar, type=type, action="append", default=[], help=text, **more
        )

    def switch(self, flag: str, help: str) -> None:
        self.add_argument(flag, action="store_true", help=help)


def _default_text(default: object) -> str:
    if isinstance(default, float):
        return f" (default: {default:g})"
    return " (default: %(default)s)" if default or default == 0 else ""


class OptionGroup(Options, argparse._ArgumentGroup):
    """Options under a title of their own in the help."""


class ExclusiveOptions(Options, argparse._MutuallyExclusiveGroup):
    """Options of which at most one may be given."""


class CommandParser(Options, argparse.ArgumentParser):
    """The parser of the program and of each command.

    Mistakes are answered with the usage of the command and the nearest word.
    """

    def group(self, title: str, description: str | None = None) -> OptionGroup:
        made = OptionGroup(self, title, description)
        self._action_groups.append(made)
        return made

    def exclusive(self) -> ExclusiveOptions:
        made = ExclusiveOptions(self)
        self._mutually_exclusive_groups.append(made)
        return made

    def parse_command(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """Parse the arguments of the program. Unknown ones are reported by their own command."""
        args, unknown = self.parse_known_args(argv)
        if unknown:
            command: CommandParser = getattr(args, "parser", self)
            command.refuse(unknown)
        return args

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        options = [name for action in self._actions for name in action.option_strings]
        wrong = next((word for word in unknown if word.startswith("-")), unknown[0])
        name = wrong.partition("=")[0]
        kind = "option" if name.startswith("-") else "argument"
        self.error(f"unknown {kind} {name!r}{_nearest(name, options)}")

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(WRONG_USE, f"{self.prog}: {message}\nfor help: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Called by argparse for arguments with choices, commands among them."""
        if action.choices is not None and value not in action.choices:
            hint = _nearest(str(value), map(str, action.choices))
            found = hint or f"; choose from {', '.join(map(str, action.choices))}"
            raise argparse.ArgumentError(action, f"{value!r} is not known{found}")


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def add_parser(commands: Commands, name: str, summary: str, example: str) -> CommandParser:
    return commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_group(
    commands: Commands, name: str, summary: str, example: str, metavar: str = "ACTION"
) -> Commands:
    """Add a command that has commands of its own, and return the place for them."""
    parser = add_parser(commands, name, summary, example)
    return parser.add_subparsers(metavar=metavar, required=True)


def add_command(
    commands: Commands, name: str, run: Run, summary: str, example: str
) -> CommandParser:
    parser = add_parser(commands, name, summary, example)
    parser.switch("--json", "print one JSON document")
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_server_command(
    commands: Commands, name: str, run: Run, summary: str, example: str
) -> CommandParser:
    """Add a command that asks a server, with the options that choose server and access key."""
    parser = add_command(commands, name, run, summary, example)
    add_target(parser)
    return parser


def add_target(parser: CommandParser) -> None:
    """Add the options that choose a server and an access key."""
    group = parser.group(
        "server", "Default: AWS_ENDPOINT_URL_SQS and the AWS keys, else the local server."
    )
    group.option("--endpoint-url", "URL", "SQS endpoint of the server")
    group.option("--admin-url", "URL", "admin API (default: the next port)")
    group.option("--data", "DIR", "data directory of a server on this machine")
    group.option("--port", "N", "port of a server on this machine")
    group.option("--profile", "NAME", "profile with the access key in ~/.aws")
    group.option("--region", "NAME", "region for signatures")
    group.option("--ca-bundle", "FILE", "trusted certificates for https (AWS_CA_BUNDLE)")


def add_queue(parser: CommandParser, help: str = "queue") -> None:
    text = f"{help}: NAME, ACCOUNT/NAME or URL"
    parser.add_argument("queue", type=queue, metavar="QUEUE", help=text)


def read_text(path: Path) -> str:
    """The text of a file of at most `FILE_BYTES_MAX` bytes."""
    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_BYTES_MAX + 1)
        if len(data) > FILE_BYTES_MAX:
            raise WrongUse(f"{path}: longer than {FILE_BYTES_MAX} bytes")
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"{path}: cannot be read: {error}") from None
