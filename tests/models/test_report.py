"""The page of all results, and what a result says about how it was made."""

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

import dovemq
from dovemq.experiments import provenance
from dovemq.experiments.catalogue import EXPERIMENTS
from dovemq.experiments.figure import Curve, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.pictures import inline_picture
from dovemq.experiments.provenance import Machine, Recorder, source_commit
from dovemq.experiments.publishing import publish
from dovemq.experiments.reasons import REASONS, UNKNOWN, reason_of
from dovemq.experiments.report import report_page, write_report
from dovemq.experiments.results import FigureResult, read_results, result_of, write_result

HOSTILE = '<script>alert("x")</script> & \'"'
PANEL = Panel(
    "a panel",
    "time, s",
    "messages/s",
    (Curve(f"curve {HOSTILE}", (1.0, 2.0), (3.0, 4.0)),),
    (PaperMark("paper's text: about 3.5", y=3.5),),
)


def _figure(title: str = "a title", holds: bool | None = True) -> Figure:
    verdict = Verdict(f"a claim {HOSTILE}", "at most 1", holds, "0.5")
    return Figure(title, {"x": [1, 2]}, (PANEL,), (verdict,), (f"a reading {HOSTILE}",))


def _clock() -> int:
    return 1_700_000_000_000


def _page(folder: Path) -> str:
    return write_report(folder).read_text()


def _parsed(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page.replace("<!DOCTYPE html>", ""))


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that has results of all ids; two have files."""
    folder = tmp_path_factory.mktemp("everything")
    run = Recorder(Effort(replications=4), _clock).ended()
    for name in EXPERIMENTS:
        figure = _figure(f"title of {name}", holds=name != "loop")
        if name in ("vma-fig11", "bdqs-fig8"):
            publish(name, figure, folder, run)
        else:
            write_result(result_of(name, figure, run), folder)
    return folder


@pytest.fixture
def everything(everywhere: Path) -> str:
    return _page(everywhere)


def test_page_is_well_formed_and_has_every_id_once(everything: str) -> None:
    root = _parsed(everything)
    ids = [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    assert len(ids) == len(set(ids))
    assert set(EXPERIMENTS) <= set(ids)
    links = {each.attrib["href"] for each in root.iter("a")}
    assert {f"#{name}" for name in EXPERIMENTS} <= links


def test_page_asks_for_nothing_from_elsewhere(everything: str, everywhere: Path) -> None:
    root = _parsed(everything)
    used = {
        value
        for each in root.iter()
        for key, value in each.attrib.items()
        if key.rpartition("}")[2] in ("href", "src", "srcset", "data", "action")
    }
    assert all(value.startswith("#") or (everywhere / value).is_file() for value in used)
    assert not [each for each in root.iter() if each.tag.rpartition("}")[2] in ("script", "link")]
    assert "@import" not in everything
    assert not re.findall(r"url\((?!#)", everything)


def test_hostile_text_stays_text(everything: str) -> None:
    assert "<script" not in everything
    assert "a claim &lt;script&gt;" in everything


def test_page_has_all_parts_of_a_figure(everything: str) -> None:
    for part in (
        "Li et al. (2015)",
        "Figures of our own",
        "Quick form: few and short runs.",
        "a panel: about 3.5 (time, s; messages/s)",
        "quick, seed 0, 4 replications",
        "2023-11-14T22:13:20Z",
        'href="vma-fig11.csv"',
        "How it was read",
    ):
        assert part in everything, part


def test_claim_that_does_not_hold_has_its_reason_in_both_tables(tmp_path: Path) -> None:
    publish("joram-fig6", _figure(holds=False), tmp_path)
    page = _page(tmp_path)
    assert page.count('does not hold<p class="reason">All servers and clients share') == 2
    assert "There are no results of vma-fig3" in page


def test_every_reason_belongs_to_a_figure() -> None:
    assert set(REASONS) <= set(EXPERIMENTS)
    assert all(reason for reasons in REASONS.values() for _, reason in reasons)
    assert reason_of("vma-fig11", "any claim") == UNKNOWN


def test_figure_that_failed_is_in_both_parts_of_the_page(tmp_path: Path) -> None:
    write_result(FigureResult("bdqs-fig6", "by K", failed=f"no Cassandra {HOSTILE}"), tmp_path)
    page = _page(tmp_path)
    assert page.count("no Cassandra &lt;script&gt;") == 2
    assert "1 figure failed" in page


def test_file_that_was_not_kept_is_not_linked(tmp_path: Path) -> None:
    publish("vma-fig7", _figure(), tmp_path)
    (tmp_path / "vma-fig7.parquet").unlink()
    page = report_page(read_results(tmp_path), tmp_path)
    assert "vma-fig7.csv" in page
    assert "vma-fig7.parquet" not in page


def test_pictures_keep_shapes_and_lose_scripts_and_names_that_clash() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        '<metadata>x</metadata><script>alert(1)</script><path id="a" onload="alert(1)"/>'
        '<use xlink:href="#a" clip-path="url(#a)"/><use xlink:href="http://other/#a"/></svg>'
    )
    found = inline_picture(svg, "one")
    assert "alert" not in found
    assert "metadata" not in found
    assert "other" not in found
    assert 'id="one-a"' in found
    assert 'href="#one-a" clip-path="url(#one-a)"' in found


def test_quick_form_says_so_on_its_plot(tmp_path: Path) -> None:
    for replications, said in ((4, True), (20, False)):
        run = Recorder(Effort(replications=replications), _clock).ended()
        publish("vma-fig11", _figure(), tmp_path, run)
        assert ("Quick form" in (tmp_path / "vma-fig11.svg").read_text()) is said


def test_run_says_how_and_when_and_no_host_or_place() -> None:
    run = Recorder(Effort(replications=4, seed=7, workers=2), _clock).ended()
    assert (run.form, run.seed, run.replications, run.workers) == ("quick", 7, 4, 2)
    assert (run.began, run.dovemq) == ("2023-11-14T22:13:20Z", dovemq.__version__)
    assert run.machine.cpus > 0
    assert run.machine.memory_bytes > 1 << 28
    assert run.machine.cpu_model
    assert run.duration_s >= 0.0
    text = msgspec.json.encode(run).decode()
    assert str(Path.home()) not in text
    assert str(Path(dovemq.__file__).parents[2]) not in text


def test_machine_without_its_files_is_still_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "_CPUINFO", tmp_path / "none")
    machine: Machine = provenance.this_machine()
    assert machine.system


def _git(tree: Path, *words: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", str(tree), *names, *words], check=True, capture_output=True)


def test_commit_is_that_of_the_source_and_marked_if_it_was_changed(tmp_path: Path) -> None:
    package = tmp_path / "src" / "dovemq"
    package.mkdir(parents=True)
    assert source_commit(package) == ""
    assert source_commit(tmp_path / "site-packages" / "dovemq") == ""
    _git(tmp_path, "init")
    assert source_commit(package) == ""
    (package / "a.py").touch()
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-m", "one")
    commit = source_commit(package)
    assert re.fullmatch("[0-9a-f]{12}", commit)
    (package / "a.py").write_text("1")
    assert source_commit(package) == f"{commit}+"
