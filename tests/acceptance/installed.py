"""The built wheel in an environment of its own, outside the tree and without its sources."""

import json
import subprocess
import venv
from pathlib import Path
from typing import Any

from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import ROOT, clean_environment, run

INSTALL_SECONDS_MAX = 3_000
COMMAND_SECONDS_MAX = 300


class Installed:
    """A new virtual environment at `place`, with the wheel and one extra, or none."""

    def __init__(self, place: Path, wheel: Path, extra: str = "") -> None:
        self.home = place
        self.programs = place / "venv" / "bin"
        self.env = {
            **clean_environment(place),
            "PATH": "/usr/bin:/bin",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        venv.create(place / "venv", with_pip=True)
        install = ["-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        self._run("python", *install, wanted, seconds_max=INSTALL_SECONDS_MAX)

    def python(self, *arguments: str | Path) -> str:
        return self._run("python", *arguments)

    def dovemq(self, *arguments: str | Path) -> str:
        return self._run("dovemq", *arguments)

    def attempted(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command that may fail."""
        command = [str(self.programs / "dovemq"), *arguments]
        done = subprocess.run(
            command,
            env=self.env,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
        )
        return done.returncode, done.stdout, done.stderr

    def serving(self, *options: str) -> LocalServer:
        """The installed server; commands of this environment ask it once it has started."""
        command = [str(self.programs / "dovemq")]
        return LocalServer(self.home / "data", command=command, args=options, env=self.env)

    def packages(self) -> set[str]:
        listed: list[dict[str, Any]] = json.loads(self.python("-m", "pip", "list", "--format=json"))
        return {package["name"] for package in listed} - {"pip", "setuptools", "wheel"}

    def _run(
        self, name: str, *arguments: str | Path, seconds_max: float = COMMAND_SECONDS_MAX
    ) -> str:
        command = [self.programs / name, *arguments]
        return run(command, env=self.env, cwd=self.home, seconds_max=seconds_max)
