"""The commands of the documents, as they stand there, in a fresh copy of the repository."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovemq.testing.local_server import LocalServer
from tests.acceptance.documents import blocks, serving, two_free_ports
from tests.acceptance.programs import ROOT, clean_environment, program, run
from tests.tidy.sources import text_files

README = blocks("README.md")
MANAGER_LOOKS = 180
"""Seconds for the manager to see the load and to act on it."""


class Fresh:
    """A copy of what is tracked, on ports of its own, with a home of its own."""

    def __init__(self, place: Path) -> None:
        self.clone = place / "clone"
        for path in [*text_files(), *(ROOT / "src").rglob("py.typed"), ROOT / "LICENSE"]:
            target = self.clone / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
        self.port = two_free_ports()
        home = place / "home"
        home.mkdir()
        self.env = clean_environment(home, DOVEMQ_PORT=str(self.port))

    def shell(self, script: str) -> str:
        return run(["bash", "-euo", "pipefail", "-c", script], env=self.env, cwd=self.clone)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fresh]:
    """The first block of the README has been run and listens."""
    fresh = Fresh(tmp_path_factory.mktemp("readme"))
    language, command = README[0]
    assert (language, command) == ("sh", "make serve\n")
    with serving(command, fresh.port, env=fresh.env, cwd=fresh.clone):
        yield fresh


def test_commands_for_the_aws_cli_work_as_written(fresh: Fresh) -> None:
    program("aws")
    _, script = README[1]
    output = fresh.shell(script)
    assert "aws --endpoint-url" in script
    assert f"http://127.0.0.1:{fresh.port}/000000000000/jobs" in output
    assert "MessageId" in output


def test_python_example_works_as_written(fresh: Fresh) -> None:
    language, script = README[2]
    assert language == "python"
    (fresh.clone / "example.py").write_text(script)
    run_it = 'eval "$(.venv/bin/dovemq env)"; python example.py; python example.py'
    assert fresh.shell(run_it).splitlines() == ["tea for two", "tea for two"]


def test_own_commands_work_as_written(fresh: Fresh) -> None:
    _, script = README[3]
    output = fresh.shell(script)
    assert output.count("hello again") == 2


def test_last_block_is_the_command_of_the_suite() -> None:
    assert README[4:] == [("sh", "make test\n")]


def test_tutorial_works_as_written(fresh: Fresh) -> None:
    steps = blocks("docs/tutorial/first-queue.md")
    assert steps[0] == ("sh", "make serve\n")
    output = fresh.shell("".join(text for _, text in steps[1:]))
    states = re.findall(r"\b(visible|leased|delayed)\b", output)
    assert [states[0], states[2]] == ["visible", "leased"]
    # On a slow machine the delay may have passed.
    assert {*states[1::2]} <= {"delayed", "visible"}
    assert len(states) == 4
    assert "second" in output.splitlines()


def test_workflow_tutorial_works_as_written(fresh: Fresh) -> None:
    """The third terminal of the tutorial is a background process."""
    steps = blocks("docs/tutorial/workflow.md")
    assert steps.pop(0) == ("sh", "make serve\n")
    for language, file in (("python", "shop.py"), ("toml", "shop.toml")):
        (fresh.clone / file).write_text(next(text for kind, text in steps if kind == language))
    put, worker, first, second, *managing = (text for language, text in steps if language == "sh")
    path, serving = worker.splitlines()
    assert serving.startswith("dovemq workflow worker shop")
    ending = "trap 'kill $WORKER; wait $WORKER' EXIT"
    script = f"{path}\n{put}\n{serving} > worker.log 2>&1 & WORKER=$!\n{ending}\n{first}\n{second}"
    output = fresh.shell(script)
    assert '"Ada pays 10"' in output
    assert '"Bob pays 0"' in output
    events = re.findall(r"(published|started|failed|ended) +invoice +(\d)", output)
    assert ("failed", "1") in events
    assert ("ended", "2") in events
    _manager_sizes_the_workers(fresh, path, managing)


def _manager_sizes_the_workers(fresh: Fresh, path: str, steps: list[str]) -> None:
    """The last step of the tutorial. The packages of the models are those of this suite."""
    setup, manager, rush, running = steps
    assert setup == "make setup EXTRAS=models\n"
    assert manager.startswith("dovemq workflow manager shop")
    managing = manager.strip().replace("dovemq", f"{sys.executable} -m dovemq", 1)
    script = f"""{path}
{managing} > manager.log 2>&1 & MANAGER=$!
trap 'kill $MANAGER; wait $MANAGER' EXIT
{rush}
for look in $(seq {MANAGER_LOOKS}); do grep -q "price 1 →" manager.log && break; sleep 1; done
{running}
"""
    fresh.shell(script)
    assert re.search(r"price 1 → [23]", (fresh.clone / "manager.log").read_text())
    lines = (fresh.clone / "decisions.jsonl").read_text().splitlines()
    assert any(json.loads(line)["changes"] for line in lines)


def test_backup_is_made_restored_and_served_as_written(fresh: Fresh) -> None:
    backup, restore, verify = (text for _, text in blocks("docs/how-to/back-up-and-restore.md"))
    path = 'export PATH="$PWD/.venv/bin:$PATH"\n'
    fresh.shell(f"{path}dovemq queue create kept; dovemq send kept 'still here'; {backup}")
    assert "nothing is damaged" in fresh.shell(path + verify)
    filling, serving = restore.splitlines()
    fresh.shell(path + filling)
    assert serving == "dovemq serve --data ./restored"
    data = fresh.clone / "restored"
    with LocalServer(data, command=[str(fresh.clone / ".venv/bin/dovemq")]) as server:
        env = {**fresh.env, **server.env}
        assert "still here" in run([fresh.clone / ".venv/bin/dovemq", "peek", "kept"], env=env)


def test_accounts_are_kept_as_written(fresh: Fresh) -> None:
    script = "".join(text for _, text in blocks("docs/how-to/accounts.md"))
    script = script.replace("9325", str(fresh.port + 1))
    output = fresh.shell('export PATH="$PWD/.venv/bin:$PATH"\n' + script)
    assert "/daily" in output
    for expected in ("billing", "1000000000", "rotate credential", "set password"):
        assert expected in output
    assert "battery" not in output


def test_examples_for_users_own_tests_work_as_written(tmp_path: Path) -> None:
    (_, test), (_, program_text) = blocks("docs/how-to/test-your-code.md")
    (tmp_path / "test_orders.py").write_text(test)
    (tmp_path / "opened.py").write_text(program_text)
    env = clean_environment(tmp_path)
    report = run([sys.executable, "-m", "pytest", "-q", tmp_path], env=env, cwd=tmp_path)
    assert "1 passed" in report
    assert run([sys.executable, tmp_path / "opened.py"], env=env, cwd=tmp_path) == ""
