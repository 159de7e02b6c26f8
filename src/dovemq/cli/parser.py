"""The parser of the command line: mistakes are answered with the command's usage and a hint."""

import argparse
import difflib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from dovemq.cli.command import WRONG_USE


class CommandParser(argparse.ArgumentParser):
    """The class of the whole program's parser and, by inheritance, of each command's."""

    def parse_command(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """Parse the arguments of the program; unknown ones are reported by their own command."""
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
        self.error(f"unknown {kind} {name!r}{nearest(name, options)}")

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(WRONG_USE, f"{self.prog}: {message}; `{self.prog} --help` explains the use\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Called by argparse for arguments with choices, commands among them."""
        if action.choices is not None and value not in action.choices:
            hint = nearest(str(value), map(str, action.choices))
            found = hint or f"; choose from {', '.join(map(str, action.choices))}"
            raise argparse.ArgumentError(action, f"{value!r} is not known{found}")


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean WORD?` for the most similar known word, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
