"""Every example runs and prints what its own docstring says."""

import ast
import sys
import textwrap
from pathlib import Path

import pytest

from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import ROOT, clean_environment, run

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_what_it_promises(
    example: Path, server: LocalServer, tmp_path: Path
) -> None:
    assert_prints_what_it_promises(example, server, tmp_path)


@pytest.mark.timeout(600)
def test_a_spark_job_runs_through_spark_connect_too(server: LocalServer, tmp_path: Path) -> None:
    example = ROOT / "examples" / "06_metrics_in_a_spark_job.py"
    assert_prints_what_it_promises(example, server, tmp_path, SPARK_REMOTE="local[2]")


def assert_prints_what_it_promises(
    example: Path, server: LocalServer, tmp_path: Path, **variables: str
) -> None:
    docstring = ast.get_docstring(ast.parse(example.read_text())) or ""
    _, _, promised = docstring.partition("Prints:\n")
    env = clean_environment(tmp_path, **server.env, **variables)
    printed = run([sys.executable, example], env=env, cwd=tmp_path)
    assert promised
    assert printed.strip() == textwrap.dedent(promised).strip()


def test_examples_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name.split("_")[0]) for path in EXAMPLES]
    assert numbers == list(range(1, len(EXAMPLES) + 1))
