"""The built wheel in a clean environment that holds the base install and nothing else."""

import json
import re
import sys
import venv
from pathlib import Path

import pytest

from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import ROOT, clean_environment, run

INSTALL_SECONDS_MAX = 180
FOREIGN = ("boto3", "botocore", "celery", "hypothesis", "pytest")
COMMANDS = ("serve", "env", "queue", "send", "receive", "peek", "backup", "restore", "verify")
HEAVY = ("apsw", "asyncio", "httptools", "uvloop")


class Installed:
    def __init__(self, place: Path) -> None:
        self.home = place
        self.programs = place / "venv" / "bin"
        self.env = {
            **clean_environment(place),
            "PATH": "/usr/bin:/bin",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def python(self, *arguments: str | Path) -> str:
        return self._run("python", *arguments)

    def dovemq(self, *arguments: str) -> str:
        return self._run("dovemq", *arguments)

    def _run(self, name: str, *arguments: str | Path) -> str:
        command = [self.programs / name, *arguments]
        return run(command, env=self.env, cwd=self.home, seconds_max=INSTALL_SECONDS_MAX)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    run([*build, target, ROOT], env=clean_environment(target), seconds_max=INSTALL_SECONDS_MAX)
    [built] = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    installed = Installed(tmp_path_factory.mktemp("clean"))
    venv.create(installed.home / "venv", with_pip=True)
    pins = ROOT / "constraints.txt"
    installed.python("-m", "pip", "install", "--quiet", "--constraint", pins, wheel)
    return installed


def test_base_install_brings_only_its_libraries_and_what_they_need(installed: Installed) -> None:
    listed = json.loads(installed.python("-m", "pip", "list", "--format=json"))
    found = {package["name"] for package in listed} - {"pip", "setuptools", "wheel"}
    needed = {"argon2-cffi-bindings", "cffi", "pycparser"}
    assert found - needed == {
        "apsw",
        "argon2-cffi",
        "dovemq",
        "httptools",
        "msgspec",
        "prometheus_client",
        "shtab",
        "uvloop",
    }


def test_importing_the_package_loads_nothing_heavy(installed: Installed) -> None:
    loaded = installed.python("-c", "import sys, dovemq; print(*sys.modules, sep='\\n')").split()
    assert not set(loaded) & {*FOREIGN, *HEAVY}


def test_help_names_the_commands(installed: Installed) -> None:
    text = installed.dovemq("--help")
    assert not [name for name in COMMANDS if not re.search(rf"\b{name}\b", text)]


def test_message_goes_through_the_installed_server_and_command(installed: Installed) -> None:
    data = installed.home / "data"
    with LocalServer(data, command=[str(installed.programs / "dovemq")]) as server:
        installed.env.update(server.env)
        installed.dovemq("queue", "create", "letters")
        installed.dovemq("send", "letters", "hello")
        assert "hello" in installed.dovemq("peek", "letters")
        assert "hello" in installed.dovemq("receive", "letters", "--delete")
        assert "hello" not in installed.dovemq("peek", "letters")
    assert server.data.exists()


def test_queues_open_in_process_without_a_server(installed: Installed) -> None:
    script = (
        "import dovemq\n"
        "with dovemq.open('opened') as mq:\n"
        "    queue = mq.create('letters')\n"
        "    queue.send('hello')\n"
        "    for message in queue.receive():\n"
        "        print(message.body)\n"
        "        message.settle()\n"
    )
    assert installed.python("-c", script).split() == ["hello"]
