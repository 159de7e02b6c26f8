"""`dovemq completion`: the script that lets a shell complete commands and options."""

import argparse
from typing import Final

from dovemq.cli.command import Commands, add_command
from dovemq.cli.output import print_result

_SHELLS: Final = ("bash", "zsh", "fish")


def add(commands: Commands) -> None:
    summary = "print the completion script of a shell"
    example = 'eval "$(dovemq completion bash)"'
    parser = add_command(commands, "completion", _run, summary, example)
    parser.add_argument("shell", choices=_SHELLS, help="shell that completes the command")


def _run(args: argparse.Namespace) -> int:
    import shtab

    # Imported here, since the program imports this module.
    from dovemq.cli.program import build_parser

    script = shtab.complete(build_parser(), args.shell)
    return print_result(args, {"shell": args.shell, "script": script}, script)
