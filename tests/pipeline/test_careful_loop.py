"""The careful measurement of the loop: which rounds are repeated, and which are left out."""

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.loop import RoundLimits, WatchedService, points_until_known
from bench.processors import Look, Watched, awake, divided, on
from bench.undisturbed import ATTEMPTS_MAX, ProcessorTime, Undisturbed
from dovemq.experiments.loop_cases import Case, LoopPoint, Rounds
from dovemq.experiments.service_runs import LoadedService
from dovemq.models.estimates import Estimate
from dovemq.pipeline.calibration.periods import Traced

LOOKS = 1_000_000
"""They take a second or more."""


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other machine takes processor time."""
    monkeypatch.setattr(ProcessorTime, "now", lambda: ProcessorTime(0, 100))


def test_stolen_time_is_a_share_of_the_time_of_all_processors() -> None:
    assert ProcessorTime(15, 1_200).stolen_since(ProcessorTime(5, 1_000)) == 0.05
    assert ProcessorTime(5, 1_000).stolen_since(ProcessorTime(5, 1_000)) == 0.0
    now = ProcessorTime.now()
    assert 0 <= now.stolen < now.total


@pytest.mark.parametrize(("stolen", "attempts"), [([0, 1], 1), ([0, 2, 0, 1], 2), ([0, 2] * 5, 5)])
def test_a_disturbed_measurement_is_repeated_a_few_times(
    stolen: list[int], attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = (
        ProcessorTime(ticks, 100 * at) for at, ticks in enumerate(itertools.accumulate(stolen))
    )
    monkeypatch.setattr(ProcessorTime, "now", lambda: next(times))
    found = Undisturbed()
    assert list(found) == list(range(attempts))
    assert found.reached is (attempts < ATTEMPTS_MAX)


@pytest.mark.usefixtures("ours")
def test_a_measurement_that_is_spoiled_in_another_way_is_repeated() -> None:
    found = Undisturbed()
    for attempt in found:
        if attempt < 2:
            found.spoil()
    assert attempt == 2
    assert found.reached


class Unstarted(WatchedService):
    """A watched service that runs nothing."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the sends that the service is asked for."""
    names: list[str] = []

    def send(self: LoadedService, name: str, **fields: Any) -> None:
        names.append(name)

    monkeypatch.setattr(LoadedService, "send", send)
    return names


def _looks(*after: Watched) -> Mapping[int, Look]:
    """One processor, watched before and after each send."""
    looks: Iterator[Watched] = iter([look for each in after for look in (Watched(0, 0, 0.0), each)])
    return {0: lambda: next(looks)}


@pytest.mark.usefixtures("ours")
def test_sends_on_a_processor_that_was_slow_or_away_are_repeated(
    tmp_path: Path, sent: list[str]
) -> None:
    # Turns a second: as usual, faster, then slow twice, away, and fast enough.
    watched = [Watched(0, turns, 1.0) for turns in (100, 120, 95, 90)]
    watched += [Watched(1, 100, 1.0), Watched(0, 97, 1.0)]
    server = Unstarted(tmp_path, {0}, _looks(*watched))
    for name in "abc":
        server.send(name)
    assert sent == ["a-0", "b-0", "c-0", "c-1", "c-2", "c-3"]
    assert all(map(server.undisturbed, "abc"))


@pytest.mark.usefixtures("ours", "sent")
def test_the_trace_of_a_round_is_that_of_its_last_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    monkeypatch.setattr(LoadedService, "traced", lambda self, name: names.append(name))
    server = Unstarted(tmp_path, {0}, _looks(Watched(1, 100, 1.0), Watched(0, 100, 1.0)))
    server.send("a")
    server.traced("a")
    assert names == ["a-1"]


@pytest.mark.usefixtures("ours")
def test_sends_that_stay_disturbed_are_not_undisturbed(tmp_path: Path, sent: list[str]) -> None:
    away = [Watched(1, 100, 1.0)] * ATTEMPTS_MAX
    server = Unstarted(tmp_path, {0}, _looks(*away, Watched(0, 100, 1.0)))
    server.send("a")
    server.send("b")
    assert len(sent) == ATTEMPTS_MAX + 1
    assert (server.undisturbed("a"), server.undisturbed("b")) == (False, True)


class Remembered(Unstarted):
    """Rounds whose names end in an odd number are disturbed."""

    def undisturbed(self, name: str) -> bool:
        return int(name[-1]) % 2 == 0

    def traced(self, name: str) -> Traced:
        return Traced(Path(), name, Path())


def _point(load: float, found: list[float]) -> LoopPoint:
    # Only the mean of the second load stays unknown.
    spread = (0.5, 1.5) if load > 0.5 else (1.0, 1.0)
    return LoopPoint("", load, load, 1.0, 1.0, Estimate(spread + tuple(found), 0.95))


def test_rounds_go_on_until_the_mean_is_known_and_disturbed_ones_are_left_out(
    tmp_path: Path,
) -> None:
    ran: dict[float, list[int]] = {0.5: [], 0.7: []}
    lines: list[str] = []
    case = Case(
        "consumers",
        Rounds({0.5: 1.0, 0.7: 1.0}, 1, 1.0),
        lambda load, number, name: ran[load].append(number),
        lambda load, traced: 1.0,
        _point,
    )
    server = Remembered(tmp_path, set(), {})
    points = points_until_known(case, server, RoundLimits(2, 5), lines.append)
    assert ran == {0.5: [0, 1], 0.7: [0, 1, 2, 3, 4]}
    assert [point.measured.samples for point in points.values() if point] == [3, 5]
    assert lines[-1] == "consumers at 70%: 0 disturbed rounds left out"
    assert "consumers at 70%: 1 disturbed rounds left out" in lines


def test_a_load_whose_rounds_were_all_disturbed_has_no_point(tmp_path: Path) -> None:
    server = Unstarted(tmp_path, set(), {})
    case = Case(
        "consumers",
        Rounds({0.5: 1.0}, 1, 1.0),
        lambda load, number, name: None,
        lambda load, traced: 1.0,
        _point,
    )
    assert points_until_known(case, server, RoundLimits(1, 3), print) == {0.5: None}


def test_speed_of_a_processor_is_turns_by_their_time() -> None:
    assert Watched(1, 30, 0.5).since(Watched(1, 10, 0.1)).speed == pytest.approx(50.0)
    assert Watched(0, 0, 0.0).speed == 0.0


def _may_have_real_time_priority() -> bool:
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, *before)
    return True


def test_processors_are_watched_where_real_time_priority_is_allowed() -> None:
    with awake() as looks:
        for look in looks.values():
            before = look()
            for _ in range(LOOKS):
                if (since := look().since(before)).turns:
                    break
            assert (since.turns > 0, since.speed > 0) == 2 * (_may_have_real_time_priority(),)


def test_the_service_and_its_clients_share_no_processor_if_there_are_two() -> None:
    before = os.sched_getaffinity(0)
    own, others = divided()
    assert own | others == before
    assert len(own) == 1
    assert not own & others or len(before) == 1
    with on(own):
        assert os.sched_getaffinity(0) == own
    assert os.sched_getaffinity(0) == before


def test_processors_are_kept_awake_by_processes_that_yield_to_all_others_and_end() -> None:
    def yielding() -> int:
        paths = Path("/proc/self/task").glob("*/children")
        pids = [int(text) for path in paths for text in path.read_text().split()]
        return [os.sched_getscheduler(pid) for pid in pids].count(os.SCHED_IDLE)

    with awake() as looks:
        assert looks.keys() == os.sched_getaffinity(0)
        assert yielding() == len(os.sched_getaffinity(0))
    assert yielding() == 0
