"""The built wheel in a clean environment that holds the base install and nothing else."""

import json
import re
from pathlib import Path

import pytest

import dovemq
from tests.acceptance.installed import Installed

FOREIGN = ("boto3", "botocore", "celery", "hypothesis", "pytest")
COMMANDS = ("serve", "env", "queue", "send", "receive", "peek", "backup", "restore", "verify")
HEAVY = ("apsw", "asyncio", "httptools", "uvloop")


@pytest.fixture(scope="module")
def installed(
    distribution: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    return Installed(tmp_path_factory.mktemp("clean"), distribution[1])


def test_base_install_brings_only_its_libraries_and_what_they_need(installed: Installed) -> None:
    needed = {"argon2-cffi-bindings", "cffi", "pycparser"}
    assert installed.packages() - needed == {
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


def test_command_tells_its_version(installed: Installed) -> None:
    assert installed.dovemq("--version") == f"dovemq {dovemq.__version__}\n"


def test_help_names_the_commands(installed: Installed) -> None:
    text = installed.dovemq("--help")
    assert not [name for name in COMMANDS if not re.search(rf"\b{name}\b", text)]


def test_message_goes_through_the_installed_server_and_command(installed: Installed) -> None:
    with installed.serving() as server:
        installed.env.update(server.env)
        assert json.loads(installed.dovemq("doctor", "--json"))["ok"]
        installed.dovemq("queue", "create", "letters")
        installed.dovemq("send", "letters", "hello")
        assert "hello" in installed.dovemq("peek", "letters")
        assert "hello" in installed.dovemq("receive", "letters", "--delete")
        assert "hello" not in installed.dovemq("peek", "letters")


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
