"""The shipped alert rules and dashboard: valid, tested, and about metrics that exist."""

import json
import re
import subprocess
from pathlib import Path

from dovemq.telemetry.metrics import METRICS
from tests.acceptance.programs import ROOT, program
from tools.dashboard import FILE, PANELS, WORKFLOW_PANELS, dashboard, dashboard_text

RULES = ROOT / "deploy" / "prometheus" / "dovemq-rules.yml"
TESTS = ROOT / "deploy" / "prometheus" / "dovemq-rules-test.yml"
NAME = re.compile(r"\bdovemq_[a-z_]+")
SUFFIXES = ("_bucket", "_count", "_sum")
GRAFANA = {"$__rate_interval": "5m", "$instance": ".*", "$queue": ".*"}


def _names(text: str) -> set[str]:
    found = set()
    for name in NAME.findall(text):
        for suffix in SUFFIXES:
            name = name.removesuffix(suffix)
        found.add(name)
    return found


def _promtool(*arguments: str) -> None:
    done = subprocess.run(
        [program("promtool"), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_are_valid_and_fire_when_they_should() -> None:
    _promtool("check", "rules", str(RULES))
    _promtool("test", "rules", str(TESTS))


def test_rules_and_dashboard_name_metrics_that_exist() -> None:
    known = {metric.name for metric in METRICS}
    expressions = re.findall(r"expr: (?:\|\n)?((?:.+\n)(?:  {10}.+\n)*)", RULES.read_text())
    assert _names("".join(expressions)) <= known
    assert _names(json.dumps(dashboard())) <= known


def test_dashboard_is_that_of_its_table() -> None:
    assert FILE.read_text() == dashboard_text(), "run python -m tools.dashboard"


def test_expressions_of_the_dashboard_can_be_evaluated(tmp_path: Path) -> None:
    expressions = [
        expression for panel in (*PANELS, *WORKFLOW_PANELS) for expression, _ in panel.queries
    ]
    for name, value in GRAFANA.items():
        expressions = [each.replace(name, value) for each in expressions]
    rules = [{"record": f"check:{number}", "expr": each} for number, each in enumerate(expressions)]
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    _promtool("check", "rules", str(file))
