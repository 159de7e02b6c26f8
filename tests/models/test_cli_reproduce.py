"""`dovemq reproduce`: its files, its page, figures that fail, and how it ends."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from dovemq.cli import main
from dovemq.core.errors import DoveError
from dovemq.experiments import catalogue
from dovemq.experiments.catalogue import EXPERIMENTS, Experiment
from dovemq.experiments.figure import Effort, Figure, Verdict
from dovemq.experiments.results import FigureResult, read_results

Ask = Callable[..., str]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(*args: object, code: int = 0) -> str:
        assert main(["reproduce", *(str(arg) for arg in args)]) == code
        printed = capsys.readouterr()
        return printed.err if code == 2 else printed.out

    return asked


def test_every_figure_is_listed_with_its_paper(ask: Ask) -> None:
    listed: list[dict[str, Any]] = json.loads(ask("list", "--json"))
    assert [each["id"] for each in listed] == list(EXPERIMENTS)
    papers = {each["id"]: each["paper"] for each in listed}
    assert papers["vma-fig11"] == "Li et al. (2015)"
    assert papers["elastic-fig4"] == "Nguyen and Nahrstedt (2016)"
    assert "Nguyen and Nahrstedt (2016)" in ask("list")


def test_figure_gives_data_plots_and_verdicts(ask: Ask, tmp_path: Path) -> None:
    report = json.loads(ask("elastic-fig4", "--quick", "--out", tmp_path, "--json", code=1))
    (found,) = report["figures"]
    assert {Path(path).suffix for path in found["files"]} == {
        ".csv",
        ".json",
        ".parquet",
        ".png",
        ".svg",
    }
    table = pq.read_table(tmp_path / "elastic-fig4.parquet")
    assert table.num_rows == found["rows"] == 11
    holds = {each["claim"]: each["holds"] for each in found["verdicts"]}
    assert holds["5 more consumers are given as (2, 2, 1, 4)"] is True
    assert report["claims"] == {"hold": 4, "do_not_hold": 1, "too_short_to_tell": 0}


def test_figure_ends_with_a_summary_and_states_thresholds_and_reasons(ask: Ask) -> None:
    text = ask("elastic-fig4", "--quick", code=1)
    assert "holds: MinCost keeps 50 s" in text
    assert "threshold: share of the runs that reach it by the model: at most 0.5" in text
    assert "why: By the model more than half of the runs" in text
    assert text.endswith("4 of 5 claims hold, 1 does not hold\n")


def _figure_of(*holds: bool | None) -> Experiment:
    verdicts = tuple(Verdict("a claim", "a threshold", each, "a number") for each in holds)
    return Experiment("made up", lambda effort: Figure("made up", {}, verdicts=verdicts))


def _failing(error: Exception) -> Experiment:
    def fail(effort: Effort) -> Figure:
        raise error

    return Experiment("cannot start", fail)


@pytest.mark.parametrize(
    ("holds", "code", "summary"),
    [
        ((True, True), 0, "2 of 2 claims hold"),
        ((True, None), 0, "1 of 2 claims hold, the run was too short to tell for 1"),
        ((True, False, False), 1, "1 of 3 claims hold, 2 do not hold"),
        ((), 0, "there are no claims to check"),
    ],
)
def test_exit_code_is_1_only_if_a_claim_does_not_hold(
    ask: Ask,
    holds: tuple[bool | None, ...],
    code: int,
    summary: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalogue, "EXPERIMENTS", {"one": _figure_of(*holds)})
    assert ask("one", code=code).endswith(f"{summary}\n")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DoveError("redis-server is not installed"), "redis-server is not installed"),
        (RuntimeError("it broke"), "RuntimeError: it broke"),
        (ModuleNotFoundError("no", name="acsylla.x"), "make setup EXTRAS=cassandra"),
    ],
)
def test_figure_that_fails_does_not_end_the_others(
    ask: Ask,
    error: Exception,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made_up = {"one": _figure_of(True), "bad": _failing(error), "two": _figure_of(True)}
    monkeypatch.setattr(catalogue, "EXPERIMENTS", made_up)
    text = ask("all", "--out", tmp_path, code=1)
    assert "bad: cannot start\n  failed: " in text
    assert text.endswith("2 of 2 claims hold; 1 figure failed\n")
    failed = read_results(tmp_path)[1]
    assert reason in failed.failed
    assert failed.files == ()
    assert "cannot start" in (tmp_path / "report.html").read_text()


def test_a_directory_that_cannot_be_written_is_refused_before_the_work(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "EXPERIMENTS", {"one": _figure_of()})
    (tmp_path / "file").touch()
    assert "cannot be written" in ask("one", "--out", tmp_path / "file", code=2)


def test_equal_runs_write_equal_files_but_for_how_they_were_made(ask: Ask, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        ask("elastic-fig4", "--quick", "--out", tmp_path / folder, code=1)
    for ending in ("csv", "svg"):
        one, two = (tmp_path / folder / f"elastic-fig4.{ending}" for folder in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    results = [read_results(tmp_path / folder)[0] for folder in ("one", "two")]
    first, second = (msgspec.structs.replace(each, run=None) for each in results)
    assert first == second


def test_page_is_made_again_from_the_results_of_several_runs(ask: Ask, tmp_path: Path) -> None:
    ask("vma-fig7", "--out", tmp_path)
    ask("elastic-fig4", "--quick", "--out", tmp_path, code=1)
    page = tmp_path / "report.html"
    both = page.read_text()
    page.unlink()
    assert f"wrote {page}" in ask("report", "--out", tmp_path)
    assert page.read_text() == both
    assert 'id="vma-fig7"' in both
    assert 'id="elastic-fig4"' in both
    assert json.loads(ask("report", "--out", tmp_path, "--json"))["report"] == str(page)


def test_page_of_nothing_is_refused(ask: Ask, tmp_path: Path) -> None:
    assert "--out DIR" in ask("report", code=2)
    assert "no results are there" in ask("report", "--out", tmp_path, code=2)


def test_file_that_is_no_result_is_named(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "vma-fig7.json").write_text("{}")
    assert "vma-fig7.json is not a result" in ask("report", "--out", tmp_path, code=2)
    moved = msgspec.json.encode(FigureResult("vma-fig8", "page Recv_Proc"))
    (tmp_path / "vma-fig7.json").write_bytes(moved)
    assert "its id is 'vma-fig8'" in ask("report", "--out", tmp_path, code=2)


@pytest.mark.parametrize("reports", [True, False])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_figure_leaves_what_it_does_and_cleans_up(
    ask: Ask, number: int, reports: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned_up = False

    def endless(effort: Effort) -> Figure:
        nonlocal cleaned_up
        try:
            os.kill(os.getpid(), number)
            while True:
                if reports:
                    effort.tell("under way")
        finally:
            cleaned_up = True

    monkeypatch.setattr(catalogue, "EXPERIMENTS", {"endless": Experiment("endless", endless)})
    ask("endless", code=128 + number)
    assert cleaned_up


def test_unknown_figure_is_refused(ask: Ask) -> None:
    assert "dovemq reproduce list" in ask("999-fig1", code=2)
