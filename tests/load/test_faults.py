"""Fault files, courses of decisions, the log and its replay."""

import itertools
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from dovemq.load.faults import decisions
from dovemq.load.faults.decisions import Courses, Decision, Drawn, Fading, Mishap, Replayed
from dovemq.load.faults.fault_log import FaultLog, FaultLogHeader, read_log
from dovemq.load.faults.spec import FaultSpec, FaultSpecInvalid, NetworkFaults, parse_spec

ALL = parse_spec(
    {
        "network": {"drop_request": 0.1, "drop_response": 0.1, "cut": 0.05, "delay": 0.05},
        "client": {"quit": 0.1},
        "server": {"kill_mttf_seconds": 5, "pause_mttf_seconds": 10},
        "disk": {"fail_sync_mttf_seconds": 20, "full_mttf_seconds": 20, "power_cut": True},
        "clock": {"skew_ms": 2_000, "jump_mttf_seconds": 10},
    },
    "all.toml",
)
TIMED = (
    Mishap.KILL,
    Mishap.PAUSE,
    Mishap.FAIL_SYNC,
    Mishap.FULL,
    Mishap.JUMP,
)
COURSES = (decisions.NETWORK, "client/0", "client/1", Mishap.SKEW, *TIMED)


def first(courses: Courses, name: str, count: int = 1_000) -> list[Decision | None]:
    return list(itertools.islice(courses.course(name), count))


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"network": {"drop": 0.1}}, "drop"),
        ({"network": {"cut": 1.5}}, "network.cut"),
        ({"clock": {"skew_ms": 700_000}}, "clock.skew_ms"),
        ({"network": {"cut": 0.6, "delay": 0.6}}, "add up to more than 1"),
        ({"disk": {"power_cut": True}}, "power_cut needs kills"),
        ({"weather": {}}, "weather"),
    ],
)
def test_invalid_fault_file_is_refused_with_the_invalid_key(
    document: dict[str, dict[str, float]], told: str
) -> None:
    with pytest.raises(FaultSpecInvalid, match=r"storm\.toml") as refused:
        parse_spec(document, "storm.toml")
    assert told in str(refused.value)


def test_empty_spec_asks_for_nothing() -> None:
    spec = parse_spec({}, "calm.toml")
    assert not spec.needs_server
    assert all(set(first(Drawn(spec, 1), name, 50)) == {None} for name in COURSES)


@pytest.mark.parametrize("table", ["server", "disk", "clock"])
def test_only_faults_of_server_disk_and_clock_need_a_server_of_their_own(table: str) -> None:
    assert ALL.needs_server
    assert not msgspec.structs.replace(
        ALL, **{t: getattr(FaultSpec(), t) for t in _TABLES}
    ).needs_server
    alone = {t: getattr(FaultSpec(), t) for t in _TABLES if t != table}
    assert msgspec.structs.replace(ALL, **alone).needs_server


_TABLES = ("server", "disk", "clock")


@pytest.mark.parametrize("name", COURSES)
def test_course_is_the_same_for_a_seed_and_another_for_another(name: str) -> None:
    assert first(Drawn(ALL, 7), name) == first(Drawn(ALL, 7), name)
    assert first(Drawn(ALL, 7), name) != first(Drawn(ALL, 8), name)


def test_receivers_do_not_quit_in_step() -> None:
    assert first(Drawn(ALL, 7), "client/0") != first(Drawn(ALL, 7), "client/1")


def test_chances_of_the_network_are_those_of_the_spec() -> None:
    drawn = first(Drawn(ALL, 3), decisions.NETWORK, 20_000)
    counts = Counter(decision.mishap for decision in drawn if decision is not None)
    assert {mishap: round(count / 20_000, 2) for mishap, count in counts.items()} == {
        Mishap.DROP_REQUEST: 0.1,
        Mishap.DROP_RESPONSE: 0.1,
        Mishap.CUT: 0.05,
        Mishap.DELAY: 0.05,
    }
    spans = {decision.for_ms for decision in drawn if decision and decision.mishap == "delay"}
    assert spans == {NetworkFaults().delay_ms}


def test_time_to_failure_is_exponential_and_time_to_repair_fixed() -> None:
    kills = [decision for decision in first(Drawn(ALL, 3), Mishap.KILL, 5_000) if decision]
    assert len(kills) == 5_000
    waits = [decision.after_ms / 1_000 for decision in kills]
    assert sum(waits) / len(waits) == pytest.approx(5, rel=0.05)
    assert sum(wait < 5 for wait in waits) / len(waits) == pytest.approx(0.632, abs=0.02)
    assert {decision.for_ms for decision in kills} == {ALL.server.kill_mttr_ms}
    assert {decision.mishap for decision in kills} == {Mishap.POWER_CUT}


def test_offsets_of_the_clock_stay_within_their_bounds() -> None:
    for name, bound in ((Mishap.SKEW, 2_000), (Mishap.JUMP, 5_000)):
        offsets = [decision.offset_ms for decision in first(Drawn(ALL, 3), name) if decision]
        assert min(offsets) < 0 < max(offsets)
        assert max(map(abs, offsets)) <= bound


def test_unknown_course_is_an_error() -> None:
    with pytest.raises(ValueError, match="hail"):
        Drawn(ALL, 1).course("hail")


def test_log_of_a_run_is_replayed_to_the_same_decisions(tmp_path: Path) -> None:
    path = tmp_path / "faults.log"
    drawn = Drawn(ALL, 11)
    expected = {name: first(drawn, name, 200) for name in COURSES}
    with FaultLog(FaultLogHeader(ALL, 11), path) as log:
        for name, course in expected.items():
            for number, decision in enumerate(course):
                if decision is not None:
                    log.note(name, number, decision, fired=number % 2 == 0)
    heading, logged = read_log(path)
    assert heading == FaultLogHeader(ALL, 11)
    replayed = Replayed(logged)
    assert {name: first(replayed, name, 200) for name in COURSES} == expected
    assert set(first(replayed, Mishap.KILL, 300)[200:]) == {None}


def test_log_counts_faults_with_an_effect(tmp_path: Path) -> None:
    with FaultLog(FaultLogHeader(ALL, 1)) as log:
        for number in range(4):
            log.note("full", number, Decision(Mishap.FULL), fired=number > 0)
        log.note("kill", 0, Decision(Mishap.KILL))
    assert log.fired == {Mishap.FULL: 3, Mishap.KILL: 1}


def test_log_that_was_cut_short_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "faults.log"
    with FaultLog(FaultLogHeader(ALL, 1), path) as log:
        log.note("kill", 0, Decision(Mishap.KILL, 10))
        log.note("kill", 1, Decision(Mishap.KILL, 20))
    path.write_bytes(path.read_bytes()[:-5])
    assert read_log(path)[1] == {"kill": {0: Decision(Mishap.KILL, 10)}}


def test_file_that_is_no_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text("hello\n")
    with pytest.raises(FaultSpecInvalid, match="not a log of faults"):
        read_log(path)
    with pytest.raises(FaultSpecInvalid, match="No such file"):
        read_log(tmp_path / "none")


def test_courses_that_have_ended_bring_nothing_more() -> None:
    fading = Fading(Drawn(ALL, 1))
    course = fading.course(Mishap.KILL)
    assert next(course) is not None
    fading.end()
    assert [next(course), next(course)] == [None, None]
    assert set(first(fading, decisions.NETWORK)) == {None}
