"""The commands of the how-to on capacity give the figures that it shows."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dovemq.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "plan-capacity.md"


def _blocks() -> list[str]:
    return re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def _planned(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    assert main(["plan", str(path), "--json", *args]) == 0
    return json.loads(capsys.readouterr().out)["plan"]


def test_plan_of_the_how_to_has_the_figures_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = _planned(_blocks()[0], tmp_path, capsys)
    assert plan["consumers"] == {"A": 2, "B": 2, "C": 1, "D": 4}
    page = PAGE.read_text()
    assert f"{plan['time_per_job_s']:.1f} s per job" in page
    for step in plan["steps"]:
        assert step["reason"] in page
    for topic in plan["network"]["topics"]:
        assert f"{topic['time_s']:.6g}\n" in page


def test_evaluated_plan_of_the_how_to_has_the_figures_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = tmp_path / "planned.toml"
    _planned(_blocks()[0], tmp_path, capsys, "--out", str(planned))
    page = PAGE.read_text()
    assert main(["model", "network", str(planned), "--target", "50", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert f"a factor of {found['headroom']['factor']:.2f}" in page
    assert main(["model", "network", str(planned), "--factor", "1.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert f"{found['topics'][0]['utilisation']:.2f} at A" in page
    assert f"{found['time_per_job_s']:.1f} s per job" in page


def test_other_jobs_of_the_how_to_are_planned_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, branches, ways = _blocks()
    text = f"{first}\n[jobs.report]\narrival_rate = 1.0\n{branches}\n{ways}"
    plan = _planned(text, tmp_path, capsys, "--optimise-routes", "--budget", "9")
    assert plan["feasible"]
