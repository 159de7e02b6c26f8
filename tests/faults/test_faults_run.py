"""A load run under each fault, and under all of them: nothing acknowledged is lost.

Small forms of the cells of `bench.faults`, which makes the table of docs/explanation/faults.md.
"""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from dovemq.cli import main
from dovemq.core.access import AccessKey
from dovemq.load.faults.decisions import Courses, Decision, Drawn, Replayed
from dovemq.load.faults.fault_log import FaultLog, FaultLogHeader, read_log
from dovemq.load.faults.process import Announcement, StartFailed
from dovemq.load.faults.run import FaultRunResult, FaultsImpossible, Stage, run
from dovemq.load.faults.spec import FaultSpec, parse_spec
from dovemq.load.plan import Endpoint, LoadPlan
from dovemq.system.key_file import key_path, read_key
from dovemq.testing.local_server import LocalServer

SEED: Final = 5
MESSAGES: Final = 400
FEW: Final = 2
TIMED: Final = frozenset(("kill", "pause", "fail_sync", "full", "flip", "jump"))
NOWHERE: Final = Endpoint("http://127.0.0.1:1")
NETWORK: Final = {"drop_request": 0.03, "drop_response": 0.03, "cut": 0.03, "delay": 0.03}
KILLS: Final = {"kill_mttf_seconds": 0.7, "kill_mttr_ms": 100}
SPECS: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "cut": {"network": NETWORK},
    "quit": {"client": {"quit": 0.05}},
    "kill": {"server": KILLS},
    "pause": {"server": {"pause_mttf_seconds": 0.5, "pause_ms": 300}},
    "power_cut": {"server": KILLS, "disk": {"power_cut": True}},
    "fail_sync": {"disk": {"fail_sync_mttf_seconds": 0.7, "fail_sync_ms": 200}},
    "full": {"disk": {"full_mttf_seconds": 0.7, "full_ms": 500}},
    "flip": {"disk": {"flip_mttf_seconds": 1}},
    "jump": {"clock": {"skew_ms": 500, "jump_mttf_seconds": 0.5, "jump_ms": 1_000}},
}
"""Settings of a run, by the fault that must then have happened."""
TOGETHER: Final[dict[str, dict[str, Any]]] = {
    "network": NETWORK,
    "client": {"quit": 0.05},
    "server": {**KILLS, "pause_mttf_seconds": 1, "pause_ms": 300},
    "disk": {"power_cut": True, "fail_sync_mttf_seconds": 1, "full_mttf_seconds": 1},
    "clock": {"skew_ms": 500, "jump_mttf_seconds": 1, "jump_ms": 1_000},
}


class Few:
    """Only the first faults of each schedule, since a restart may take long."""

    def __init__(self, courses: Courses) -> None:
        self._courses = courses

    def course(self, name: str) -> Iterator[Decision | None]:
        course = self._courses.course(name)
        if name in TIMED:
            return itertools.chain(itertools.islice(course, FEW), itertools.repeat(None))
        return course


def key_of(announced: Announcement) -> AccessKey:
    return read_key(key_path(Path(announced.data)), announced.account)


def plan(**fields: Any) -> LoadPlan:
    return LoadPlan(
        **{
            "endpoint": NOWHERE,
            "name": "faults",
            "seed": SEED,
            "senders": 4,
            "receivers": 4,
            "messages": MESSAGES // 4,
            "send_rate": 200.0,
            "body_bytes": 300,
            "lease_seconds": 2,
            **fields,
        }
    )


def outcome_of(
    spec: FaultSpec,
    place: Path,
    planned: LoadPlan,
    courses: Courses | None = None,
    endpoint: Endpoint | None = None,
) -> FaultRunResult:
    with FaultLog(FaultLogHeader(spec, SEED), place / "faults.log") as log:
        stage = Stage(place / "server", key_of, log, endpoint)
        return asyncio.run(run(spec, courses or Few(Drawn(spec, SEED)), planned, stage))


def check_all_came(outcome: FaultRunResult) -> None:
    (repetition,) = outcome.result.repetitions
    assert repetition.report.culprits == () or not outcome.failed
    assert not outcome.failed
    assert repetition.report.messages == MESSAGES


@pytest.mark.parametrize("mishap", SPECS)
def test_nothing_is_lost_under_a_fault(mishap: str, tmp_path: Path) -> None:
    outcome = outcome_of(parse_spec(SPECS[mishap], mishap), tmp_path, plan())
    check_all_came(outcome)
    assert outcome.fired[mishap]


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_nothing_is_lost_under_all_faults_together(fifo: bool, tmp_path: Path) -> None:
    outcome = outcome_of(parse_spec(TOGETHER, "together"), tmp_path, plan(fifo=fifo))
    check_all_came(outcome)
    assert {"power_cut", "drop_request", "skew"} <= outcome.fired.keys()


def test_log_of_a_run_brings_about_the_same_faults_again(tmp_path: Path) -> None:
    spec = parse_spec({"network": NETWORK, "server": KILLS}, "storm")
    (tmp_path / "first").mkdir()
    (tmp_path / "again").mkdir()
    outcome_of(spec, tmp_path / "first", plan())
    _, logged = read_log(tmp_path / "first" / "faults.log")
    check_all_came(outcome_of(spec, tmp_path / "again", plan(), Replayed(logged)))
    _, again = read_log(tmp_path / "again" / "faults.log")
    for course, decisions in again.items():
        assert decisions.items() <= logged[course].items()
    assert again["kill"]


def is_noticed(spec: FaultSpec, place: Path) -> bool:
    try:
        return outcome_of(spec, place, plan()).failed
    except StartFailed:
        return True


def test_disk_that_lies_about_syncs_is_found_out(tmp_path: Path) -> None:
    """Shows that the search of the other tests finds secrets that are there."""
    disk = {"power_cut": True, "sync_lies": True}
    assert is_noticed(parse_spec({"server": KILLS, "disk": disk}, "lies"), tmp_path)


def test_server_of_others_goes_through_faults_of_network_and_clients(tmp_path: Path) -> None:
    spec = parse_spec({"network": NETWORK, "client": {"quit": 0.05}}, "storm")
    with LocalServer(tmp_path / "data") as server:
        endpoint = Endpoint(server.endpoint_url, server.access_key, server.region)
        outcome = outcome_of(spec, tmp_path, plan(), endpoint=endpoint)
    check_all_came(outcome)
    assert outcome.starts == 0


@pytest.mark.parametrize(
    ("document", "fields", "endpoint", "told"),
    [
        ({"server": KILLS}, {}, NOWHERE, "a server that this run starts"),
        ({"client": {"quit": 0.1}}, {"processes": 2}, None, "--processes 1"),
        ({"network": NETWORK}, {}, Endpoint("https://127.0.0.1:1"), "http://"),
    ],
)
def test_faults_that_cannot_be_brought_about_are_refused(
    document: dict[str, Any],
    fields: dict[str, Any],
    endpoint: Endpoint | None,
    told: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(FaultsImpossible, match=told):
        outcome_of(parse_spec(document, "x"), tmp_path, plan(**fields), endpoint=endpoint)


def test_command_tells_what_fired_and_that_every_message_is_accounted_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "storm.toml"
    spec.write_text("[network]\ndrop_response = 0.05\n\n[client]\nquit = 0.05\n")
    options = ["--messages", "40", "--senders", "4", "--receivers", "4", "--lease", "2"]
    log = tmp_path / "storm.log"
    code = main(["faults", "run", str(spec), *options, "--log", str(log), "--seed", "3"])
    told = capsys.readouterr().out
    assert code == 0, told
    assert "every message is accounted for" in told
    assert "drop_response" in told
    assert read_log(log)[1]["network"]
