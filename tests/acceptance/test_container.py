"""The Containerfile: no fault for its linter, and its steps work in an empty directory.

No engine builds an image: the tests take the steps out of the file and run them on this machine.
"""

import json
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from dovemq.configuration import resolve
from dovemq.settings import all_settings
from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import ROOT, clean_environment, program, run

FILE = ROOT / "deploy" / "container" / "Containerfile"
IGNORED = ROOT / ".dockerignore"
INSTALL_SECONDS_MAX = 1_500
TEST_SECONDS_MAX = 1_800

Step = tuple[str, str]


def _steps() -> list[Step]:
    """The instructions and their arguments, with continued lines joined."""
    lines = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    words = [re.sub(" +", " ", line).partition(" ") for line in joined if line]
    return [(name, rest) for name, _, rest in words]


def _arguments(name: str) -> list[str]:
    return [rest for each, rest in _steps() if each == name]


def _context(folder: Path) -> Path:
    """A copy of what the build may see: the last lines of the file of ignored names."""
    for line in IGNORED.read_text().splitlines():
        if line.startswith("!/"):
            source, target = ROOT / line[2:], folder / line[2:]
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that the first stage makes."""
    folder = tmp_path_factory.mktemp("container")
    step = _arguments("RUN")[0]
    [extras] = [rest.partition("=")[2] for rest in _arguments("ARG") if rest.startswith("EXTRAS")]
    target = folder / "installed"
    command = step.replace("/opt/dovemq", str(target)).replace("${EXTRAS}", extras)
    context = _context(folder / "source")
    environment = clean_environment(folder)
    run(["sh", "-c", command], env=environment, cwd=context, seconds_max=INSTALL_SECONDS_MAX)
    return target


def test_linter_finds_no_fault() -> None:
    done = subprocess.run([program("hadolint"), FILE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_variables_are_settings() -> None:
    [variables] = _arguments("ENV")
    given = dict(re.findall(r"(DOVEMQ_\w+)=(\S+)", variables))
    assert given
    assert set(given) <= {setting.variable for setting in all_settings()}
    settings = resolve({}, given).settings
    assert _arguments("EXPOSE") == [f"{settings.port} {settings.admin_port_chosen}"]
    [volume] = json.loads(_arguments("VOLUME")[0])
    assert settings.data.parent == Path(volume)


def test_image_runs_as_a_user_without_rights() -> None:
    [user] = _arguments("USER")
    assert int(user.partition(":")[0]) >= 10_000


@pytest.mark.timeout(TEST_SECONDS_MAX)
def test_install_holds_the_command_and_its_databases_and_no_installer(installed: Path) -> None:
    listed = {folder.name for folder in installed.glob("lib/python3.*/site-packages/*")}
    assert {"dovemq", "acsylla", "asyncpg", "redis"} <= listed
    assert not listed & {"pip", "pytest", "hatchling"}


@pytest.mark.timeout(TEST_SECONDS_MAX)
def test_health_check_asks_the_server(installed: Path, tmp_path: Path) -> None:
    [check] = _arguments("HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])
    assert command[0] == "python"

    def asked(port: str) -> int:
        words = [str(installed / "bin" / "python"), *command[1:]]
        words = [word.replace(":9325/", f":{port}/") for word in words]
        return subprocess.run(words, capture_output=True, timeout=300).returncode

    with LocalServer(tmp_path / "data", command=[str(installed / "bin" / "dovemq")]) as server:
        assert asked(server.admin_url.rpartition(":")[2]) == 0
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert asked(str(unused.getsockname()[1])) != 0
