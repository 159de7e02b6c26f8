"""The Python that a session's processes run."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dovemq.pipeline.errors import PythonUnset
from dovemq.pipeline.session import use_this_python

SCRIPT = """
from pyspark.sql import SparkSession
from dovemq.pipeline import datasource

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
datasource.register(spark)
rows = spark.read.format("dovemq").option("queue", "http://127.0.0.1:1/1/orders").load()
print(rows.columns)
"""


def _session(master: str) -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, pythonExec="python3"))


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


def test_a_local_session_runs_this_interpreter() -> None:
    session = _session("local[2]")
    use_this_python(session)
    assert session.sparkContext.pythonExec == sys.executable


def test_the_choice_of_the_user_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    session = _session("local[2]")
    use_this_python(session)
    assert session.sparkContext.pythonExec == "python3"


def test_a_cluster_that_would_run_another_python_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PythonUnset, match=r"would run python3.*set PYSPARK_PYTHON"):
        use_this_python(_session("spark://127.0.0.1:7077"))


def test_a_cluster_that_runs_the_python_of_this_environment_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    session = _session("spark://127.0.0.1:7077")
    use_this_python(session)
    assert session.sparkContext.pythonExec == "python3"


def test_a_session_without_a_context_is_left_alone() -> None:
    session = SimpleNamespace()
    use_this_python(session)  # type: ignore[arg-type]
    assert vars(session) == {}


def test_a_script_with_a_session_of_its_own_needs_no_variable(java: None, tmp_path: Path) -> None:
    """Another python3 is first on the path."""
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ
        | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
    )
    assert "message_id" in done.stdout, done.stderr[-4_000:]
