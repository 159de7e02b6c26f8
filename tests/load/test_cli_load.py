"""Output and exit codes of `dovemq load check`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dovemq.cli import build_parser, main
from dovemq.cli.load_check import FAULTS
from dovemq.load import checker
from dovemq.load.judgement import Violation
from tests.load import fake_run
from tests.load.fake_run import FakeRun

Check = Callable[..., str]


@pytest.fixture
def run() -> FakeRun:
    return FakeRun(1, trouble=0.0)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Check:
    def checked(*args: str, code: int = 0) -> str:
        assert main(["load", "check", str(tmp_path), *args]) == code
        printed = capsys.readouterr()
        return printed.out + printed.err

    return checked


def test_correct_run_ends_well(run: FakeRun, check: Check, tmp_path: Path) -> None:
    run.journals(tmp_path)
    out = check()
    assert "every message is accounted for" in out
    assert "60 acknowledged, 0 refused, 0 unknown" in out


def test_lost_message_is_named_with_its_history(run: FakeRun, check: Check, tmp_path: Path) -> None:
    victim = fake_run.lose(run)
    run.journals(tmp_path)
    out = check(code=1)
    assert f"lost: message {victim.send_seq} of sender {victim.sender}" in out
    assert f"acknowledged as {victim.message_id}" in out


def test_report_is_one_json_document(run: FakeRun, check: Check, tmp_path: Path) -> None:
    fake_run.give_back(run)
    run.journals(tmp_path)
    report = json.loads(check("--json", code=1))
    assert report["failed"]
    assert report["faults"]["returned"] == 1
    assert report["culprits"][0]["faults"] == ["returned"]
    assert set(report["rates"]) >= {"loss_rate", "out_of_order_rate"}


def test_allowed_fault_ends_well(run: FakeRun, check: Check, tmp_path: Path) -> None:
    fake_run.collide(run)
    run.journals(tmp_path)
    check(code=1)
    assert "1 (allowed)" in check("--allow", "collided", "--histories", "0")


def test_order_is_asked_for_by_a_flag(run: FakeRun, check: Check, tmp_path: Path) -> None:
    fake_run.swap(run)
    run.journals(tmp_path)
    check()
    assert "late: message" in check("--in-order", code=1)


def test_run_larger_than_memory_is_checked_all_the_same(
    run: FakeRun, check: Check, tmp_path: Path
) -> None:
    run.journals(tmp_path)
    assert check("--rows-max", "20") == check()


def test_directory_without_journals_is_a_failure(check: Check) -> None:
    assert "no sender journal" in check(code=1)


def test_missing_library_is_named_with_the_extra_that_brings_it(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.startswith("dovemq.load")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert "make setup EXTRAS=models" in check(code=2)


def test_options_match_the_violations_of_the_checker() -> None:
    assert set(FAULTS) == {fault.value for fault in Violation}
    parsed = {"rows_max": checker.ROWS_MAX, "histories": checker.HISTORIES_MAX}
    args = vars(build_parser().parse_args(["load", "check", "."]))
    assert {name: args[name] for name in parsed} == parsed
