"""The loop: the real service in a short run, and what is made of longer ones."""

import math
import os
from pathlib import Path

import pytest

from dovemq.experiments import service_runs
from dovemq.experiments.loop import figure_of, verdict_on
from dovemq.experiments.loop_cases import (
    WORK_MS,
    Case,
    Point,
    Rounds,
    Scale,
    consumers,
    front_end,
)
from dovemq.experiments.processors import Watched, awake, divided, on
from dovemq.experiments.service_runs import Service
from dovemq.load.costs import ProcessorTime
from dovemq.load.plan import LoadPlan
from dovemq.load.results import LoadResult
from dovemq.models.simulation.estimates import Estimate
from dovemq.pipeline.calibration.periods import Traced

SHORT = Scale(Rounds({0.5: 2.0}, 1, 1), Rounds({0.5: 1.5}, 1, 1), pilot=1.5)


def test_a_model_of_consumers_is_calibrated_and_measured_in_the_real_service() -> None:
    (point,) = consumers(1, SHORT)
    assert (point.case, point.load) == ("consumers", 0.5)
    assert 0.0 < point.utilisation < 1.5
    # The work alone takes so long, on average of some hundred messages.
    assert min(point.predicted, point.measured.mean) > 0.5 * WORK_MS / 1_000


def test_a_model_of_the_front_end_is_calibrated_and_measured_in_the_real_service() -> None:
    (point,) = front_end(1, SHORT)
    assert (point.case, point.load) == ("front end", 0.5)
    assert point.arrival_rate > 0
    assert point.measured.mean > 0
    assert point.predicted > 0


def _point(predicted: float, *measured: float) -> Point:
    return Point("consumers", 0.7, 0.71, 300.0, predicted, Estimate(measured, 0.95, "batches"))


@pytest.mark.parametrize(
    ("predicted", "holds"), [(1.1, True), (0.9, True), (1.2, False), (0.8, False)]
)
def test_a_prediction_holds_within_fifteen_percent(predicted: float, holds: bool) -> None:
    assert verdict_on(_point(predicted, 0.99, 1.0, 1.01)).holds is holds


def test_nothing_is_told_of_a_mean_that_is_not_known() -> None:
    assert verdict_on(_point(1.0, 0.5, 1.0, 1.5)).holds is None


def test_the_figure_shows_both_and_tells_of_what_was_not_stable() -> None:
    figure = figure_of([_point(1.1, 0.99, 1.0, 1.01), _point(math.inf, 0.99, 1.0, 1.01)])
    assert figure.data["predicted_s"] == [1.1, None]
    assert [curve.label for curve in figure.panels[0].curves] == ["measured, 95 %", "predicted"]
    assert [verdict.holds for verdict in figure.verdicts] == [True, False]


def test_sends_that_stayed_disturbed_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Service(tmp_path, set(), {})
    monkeypatch.setattr(server, "_quiet", {"a", "c"})
    assert server.quiet(["a", "b", "c"]) == ["a", "c"]
    assert server.quiet(["b"]) == ["b"]


class Unstarted(Service):
    """Whose rounds tell what the test wants."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass


def test_rounds_go_on_where_the_mean_is_not_known_and_end_with_the_most(tmp_path: Path) -> None:
    ran: dict[float, list[str]] = {0.5: [], 0.7: []}

    def run(load: float, number: int, name: str) -> None:
        ran[load].append(f"{name} {number}")

    def read(load: float, traced: Traced) -> float:
        return 1.0

    def point(load: float, found: list[float]) -> Point:
        # Only the mean of the second load is never known.
        spread = (0.5, 1.5) if load > 0.5 else (1.0, 1.0)
        return Point("", load, load, 1.0, 1.0, Estimate(spread + tuple(found), 0.95))

    rounds = Rounds({0.5: 1.0, 0.7: 1.0}, at_a_time=2, most=5)
    told: list[str] = []
    points = Case("consumers", rounds, run, read, point).points(
        Unstarted(tmp_path, set(), {}), told.append
    )
    assert ran[0.5] == ["load-50-0 0", "load-50-1 1"]
    assert ran[0.7] == [f"load-70-{number} {number}" for number in range(5)]
    assert [point.measured.samples for point in points] == [4, 7]
    assert told[-2] == "consumers at 70%, round 5 of 5 at most"
    assert told[-1].startswith("consumers at 70%: predicted 1000 ms, measured 1000 ± ")


def test_a_load_begins_when_nothing_is_left_to_do_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Service(tmp_path, set(), {})
    monkeypatch.setattr(service_runs, "LOOK_SECONDS", 0.001)
    # Told before and after each look: busy, busy, and then hardly.
    told = [0.0, 0.001, 0.001, 0.0015, 0.0015, 0.00151]
    monkeypatch.setattr(service_runs, "tree_cpu_seconds", lambda pid: told.pop(0))
    monkeypatch.setattr(type(server._process), "pid", 1)
    server._rest()
    assert told == []


def test_speed_of_a_processor_is_told_by_the_time_of_equal_turns() -> None:
    assert Watched(1, 30, 0.5).since(Watched(1, 10, 0.1)).speed == pytest.approx(50.0)
    assert Watched(0, 0, 0.0).speed == 0.0


LOOKS = 1_000_000
"""A second of them or more."""


def _may_come_first() -> bool:
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, *before)
    return True


def test_processors_are_watched_by_who_may_come_first() -> None:
    with awake() as looks:
        for look in looks.values():
            before = look()
            for _ in range(LOOKS):
                if (since := look().since(before)).turns:
                    break
            assert (since.turns > 0, since.speed > 0) == 2 * (_may_come_first(),)


def test_sends_on_a_processor_that_was_slowed_down_or_away_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Turns in a second: as usual, faster, then slow twice, away, and fast enough.
    told = [Watched(0, turns, 1.0) for turns in (100, 120, 95, 90)]
    told += [Watched(1, 100, 1.0), Watched(0, 97, 1.0)]
    looks = iter([look for each in told for look in (Watched(0, 0, 0.0), each)])
    server = Service(tmp_path, {0}, {0: lambda: next(looks)})
    acts: list[str] = []

    async def act(plan: LoadPlan, *, journals: Path, traces: Path) -> LoadResult:
        acts.append(plan.name)
        return LoadResult(plan.name, (), False, None, ())

    monkeypatch.setattr(service_runs, "_sent", act)
    monkeypatch.setattr(server, "_rest", lambda: None)
    monkeypatch.setattr(ProcessorTime, "now", lambda: ProcessorTime(0, 100))
    monkeypatch.setattr(type(server._process), "endpoint_url", "http://127.0.0.1:1")
    for name in "abc":
        server.send(name, messages=1)
    assert acts == ["a-0", "b-0", "c-0", "c-1", "c-2", "c-3"]
    assert server.quiet(["a", "b", "c"]) == ["a", "b", "c"]


def test_the_service_and_its_clients_share_no_processor_if_there_are_two() -> None:
    before = os.sched_getaffinity(0)
    own, others = divided()
    assert own | others == before
    assert len(own) == 1
    assert not own & others or len(before) == 1
    with on(own):
        assert os.sched_getaffinity(0) == own
    assert os.sched_getaffinity(0) == before


def test_processors_are_kept_awake_by_what_yields_to_all_and_ends() -> None:
    def yielding() -> int:
        paths = Path("/proc/self/task").glob("*/children")
        pids = [int(text) for path in paths for text in path.read_text().split()]
        return [os.sched_getscheduler(pid) for pid in pids].count(os.SCHED_IDLE)

    with awake() as looks:
        assert looks.keys() == os.sched_getaffinity(0)
        assert yielding() == len(os.sched_getaffinity(0))
    assert yielding() == 0
