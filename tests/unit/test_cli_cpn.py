"""`dovemq cpn`: nets from files, without a server."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import nets
from dovemq.cli import main
from dovemq.models.petri import write_net, write_pnml
from tests.models.petri.queueing import station

Command = Callable[..., str]


@pytest.fixture
def cpn(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*args: object, code: int = 0) -> str:
        capsys.readouterr()
        assert main(["cpn", *map(str, args)]) == code
        printed = capsys.readouterr()
        return printed.err if code == 2 else printed.out

    return run


@pytest.fixture
def philosophers(tmp_path: Path) -> Path:
    path = tmp_path / "philosophers.json"
    path.write_text(write_net(nets.coloured_philosophers(4)))
    return path


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    path = tmp_path / "queue.json"
    net = station(2, "exponential(rate)", "exponential(1.0)", rate=1.0)
    path.write_text(write_net(net))
    return path


def test_check_describes_the_net(cpn: Command, philosophers: Path) -> None:
    assert json.loads(cpn("check", philosophers, "--json")) == {
        "net": "coloured philosophers 4",
        "valid": True,
        "kind": "coloured",
        "timed": False,
        "pages": 1,
        "places": 4,
        "transitions": 3,
        "colours": 2,
    }


def test_check_of_an_invalid_net_fails_and_names_the_arc(cpn: Command, philosophers: Path) -> None:
    form = json.loads(philosophers.read_text())
    form["pages"]["Main"]["arcs"].append(["Eat", "Stop", "nobody"])
    philosophers.write_text(json.dumps(form))
    printed = cpn("check", philosophers, code=1)
    assert "page Main, transition Stop, arc Eat → Stop (nobody): unknown name 'nobody'" in printed
    assert json.loads(cpn("check", philosophers, "--json", code=1))["valid"] is False
    assert "unknown name 'nobody'" in cpn("simulate", philosophers, "--steps", 3, code=2)


def test_simulate_reports_intervals(cpn: Command, queue: Path, tmp_path: Path) -> None:
    player = tmp_path / "run.html"
    printed = json.loads(
        cpn(
            "simulate", queue, "--json", "--until", 200, "--replications", 5, "--warmup", 20,
            "--set", "rate=0.5", "--collect", "End=now - at", "--level", "size('Queue')",
            "--player", player, "--player-steps", 20,
        )
    )  # fmt: skip
    figures = {each["monitor"]: each for each in printed["figures"]}
    assert figures["End: now - at"]["replications"] == 5
    assert 0.7 < figures["End: now - at"]["mean"] < 1.6
    assert figures["count Arrive"]["mean"] == pytest.approx(90, rel=0.3)
    assert {run["reason"] for run in printed["runs"]} == {"until"}
    assert player.read_text().startswith("<!doctype html>")
    table = cpn("simulate", queue, "--steps", 50)
    assert "count Arrive" in table
    assert "50 firings, ended by steps" in table


def test_simulate_needs_an_end_of_the_run(cpn: Command, queue: Path) -> None:
    assert "--until, --steps or --stop" in cpn("simulate", queue, code=2)
    assert "ended by stop" in cpn("simulate", queue, "--stop", "size('Serving') > 1")
    assert "confidence" in cpn("simulate", queue, "--steps", 5, "--confidence", 2, code=2)


def test_statespace_reports_the_properties_of_the_net(cpn: Command, philosophers: Path) -> None:
    printed = json.loads(cpn("statespace", philosophers, "--json", "--invariants"))
    assert printed["markings"] == 34
    assert printed["dead_markings"] == 1
    assert printed["first_dead_marking"] == {"Wait": "1`0 + 1`1 + 1`2 + 1`3"}
    assert printed["live_transitions"] == []
    assert printed["bounds"]["Eat"] == "0..2"
    assert len(printed["place_invariants"]) == 8
    assert "dead markings" in cpn("statespace", philosophers)


def test_statespace_that_reaches_its_limit_fails_and_names_the_limit(
    cpn: Command, philosophers: Path
) -> None:
    printed = json.loads(cpn("statespace", philosophers, "--markings-max", 9, "--json", code=1))
    assert printed["complete"] is False
    assert printed["stopped"] == "the limit of 9 markings was met"


def test_file_that_ends_with_pnml_is_read_as_pnml(cpn: Command, tmp_path: Path) -> None:
    path = tmp_path / "kanban.pnml"
    path.write_text(write_pnml(nets.kanban(1)))
    assert json.loads(cpn("statespace", path, "--json"))["markings"] == 160


def test_draw_writes_a_file_for_each_page(cpn: Command, philosophers: Path, tmp_path: Path) -> None:
    printed = json.loads(cpn("draw", philosophers, "--out", tmp_path / "d", "--after", 3, "--json"))
    assert [Path(name).name for name in printed["files"]] == ["Main.svg"]
    assert Path(printed["files"][0]).read_text().startswith("<svg")
    assert "no page is named 'X'" in cpn("draw", philosophers, "--page", "X", code=2)


@pytest.mark.parametrize(
    ("player", "problem"),
    [
        ("missing/run.html", "there is no directory 'missing'"),
        (".", "is a directory"),
    ],
)
def test_player_in_an_impossible_place_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    queue: Path,
    player: str,
    problem: str,
) -> None:
    monkeypatch.chdir(queue.parent)
    with pytest.raises(SystemExit) as ended:
        main(["cpn", "simulate", str(queue), "--steps", "5", "--player", player])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert problem in printed.err
    assert not printed.out


def test_draw_refuses_a_directory_that_cannot_be_made(cpn: Command, queue: Path) -> None:
    assert "cannot be made a directory" in cpn("draw", queue, "--out", queue / "d", code=2)


def test_unknown_constant_is_wrong_use(cpn: Command, queue: Path) -> None:
    assert "the net has no constant speed" in cpn("draw", queue, "--set", "speed=3", code=2)


def test_net_of_a_pnml_file_of_several_is_chosen_by_its_id(cpn: Command, tmp_path: Path) -> None:
    path = tmp_path / "two.pnml"
    path.write_text('<pnml><net id="one"><place id="a"/></net><net id="two"/></pnml>')
    assert "holds 2 nets, name one: one, two" in cpn("check", path, code=1)
    assert json.loads(cpn("check", path, "--net-id", "one", "--json"))["places"] == 1


def test_net_id_is_refused_for_a_file_of_one_net(cpn: Command, philosophers: Path) -> None:
    assert "--net-id is for PNML files" in cpn("check", philosophers, "--net-id", "x", code=2)
