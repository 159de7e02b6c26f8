"""The completion scripts, executed by the shells that they are for."""

import os
import pty
import select
import shlex
import subprocess
import time
from pathlib import Path

from tests.acceptance.programs import clean_environment, program, run

SECONDS_MAX = 300
READ_BYTES = 4_096
LINE_START = b"\x01"
"""The key that moves to the start of a line."""


def _script(shell: str, folder: Path) -> Path:
    file = folder / f"completion.{shell}"
    command = [program("dovemq"), "completion", shell]
    file.write_text(run(command, env=clean_environment(folder)))
    return file


def _executed(folder: Path, command: list[str]) -> str:
    return run(command, env=clean_environment(folder), cwd=folder, seconds_max=SECONDS_MAX)


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    script = f"""
        source {shlex.quote(str(_script("bash", tmp_path)))}
        complete_words() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _shtab_dovemq dovemq "${{@: -1}}" "${{@: -2:1}}"
            echo "${{COMPREPLY[@]}}"
        }}
        complete -p dovemq
        complete_words dovemq queue cre
        complete_words dovemq serve --adv
    """
    registered, *completed = _executed(tmp_path, [program("bash"), "-c", script]).splitlines()
    assert registered.endswith("-F _shtab_dovemq dovemq")
    assert completed == ["create", "--advertise"]


def test_fish_completes_commands_and_options(tmp_path: Path) -> None:
    script = f"""
        source {shlex.quote(str(_script("fish", tmp_path)))}
        complete -C "dovemq queue cre"
        complete -C "dovemq serve --adv"
    """
    completed = _executed(tmp_path, [program("fish"), "--no-config", "-c", script]).splitlines()
    assert [line.partition("\t")[0] for line in completed] == ["create", "--advertise"]


class Typed:
    """A zsh that a person seems to type into, since it completes nothing in a script."""

    def __init__(self, folder: Path) -> None:
        zsh = program("zsh")
        self._keyboard, terminal = pty.openpty()
        environment = clean_environment(folder, TERM="dumb")
        self._process = subprocess.Popen(
            [zsh, "-f", "-i"],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(terminal)

    def await_answer(self, keys: bytes, answer: bytes) -> None:
        """Types the keys and waits until the answer is shown; fails if it never is."""
        os.write(self._keyboard, keys)
        shown, deadline = b"", time.monotonic() + SECONDS_MAX
        while answer not in shown:
            assert select.select([self._keyboard], [], [], deadline - time.monotonic())[0], shown
            shown += os.read(self._keyboard, READ_BYTES)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._keyboard)


def test_zsh_completes_commands_and_options(tmp_path: Path) -> None:
    script = shlex.quote(str(_script("zsh", tmp_path)))
    shell = Typed(tmp_path)
    try:
        ready = f"autoload -Uz compinit; compinit -u; eval \"$(<{script})\"; print READ''Y\n"
        shell.await_answer(ready.encode(), b"READY")
        for typed, completed in (
            (b"dovemq queue cre", "dovemq queue create"),
            (b"dovemq serve --adv", "dovemq serve --advertise"),
        ):
            keys = typed + b"\t" + LINE_START + b"print -r -- SEE''N \n"
            shell.await_answer(keys, f"SEEN {completed}".encode())
    finally:
        shell.close()
