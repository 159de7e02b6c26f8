"""Figures of bdqs from given measurements: plans, verdicts, columns and files."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dovemq.experiments import bdqs_adaptive, bdqs_consistency, bdqs_faults, bdqs_scaling
from dovemq.experiments.bdqs_consistency import HINTS, PLAIN, HintPoint, hint_points
from dovemq.experiments.bdqs_costs import PhaseCosts, model_of
from dovemq.experiments.bdqs_faults import FaultPoint
from dovemq.experiments.bdqs_performance import PHASES, LoadPoint, ServersMeasured, simulated
from dovemq.experiments.bdqs_runs import MODES, BdqsRun, BdqsWorkload
from dovemq.experiments.bdqs_station import fitted_station
from dovemq.experiments.figure import Effort, Figure, Verdict
from dovemq.experiments.publishing import publish
from dovemq.models.analytic.station import mmc
from dovemq.models.simulation.servers import RequestCost

RUN = BdqsRun(
    send_rate=200.0,
    receive_rate=100.0,
    send_time=0.01,
    receive_time=0.02,
    duplication_rate=0.0,
    out_of_order_rate=0.0,
    average_displacement=0.0,
    loss_rate=0.0,
    messages=300,
    lost=0,
    left=0,
    failures=0,
)
COST = RequestCost(0.001, 0.003)
EFFORT = Effort(replications=4)


def holds(verdicts: Iterable[Verdict], text: str) -> set[bool | None]:
    found = {each.holds for each in verdicts if text in each.claim}
    assert found, f"no claim has the text {text}"
    return found


def twice(run: BdqsRun) -> list[BdqsRun]:
    return [run, replace(run, average_displacement=1.01 * run.average_displacement)]


def as_printed(point: HintPoint) -> BdqsRun:
    """The trade of the paper: order against duplicates."""
    place = HINTS.index(point.hint)
    crowd = point.threads - 1
    return replace(
        RUN,
        duplication_rate=0.3 * crowd / (1 + place),
        out_of_order_rate=0.1 * place * crowd,
        average_displacement=100.0 if point.hint == "any" else 0.5 * place,
    )


def hint_figure(run: Callable[[HintPoint], BdqsRun]) -> Figure:
    points = [point for mode in MODES for point in hint_points(mode, quick=True)]
    return bdqs_consistency.figure_of({point: twice(run(point)) for point in points}, quick=True)


def test_every_mode_has_every_k_that_it_can_have() -> None:
    for mode in MODES:
        points = hint_points(mode, quick=False)
        hints = {point.hint for point in points}
        assert hints == set(HINTS) - ({"adaptive"} if mode == "lease" else set())
        assert {point.threads for point in points} == {1, 2, 3}
        assert any(point.literal for point in points) is (mode == "none")
        assert len(set(points)) == len(points)


def test_second_system_without_order_is_drawn_and_no_verdict_depends_on_it() -> None:
    points = [point for mode in MODES for point in hint_points(mode, quick=True)]
    found = {point: twice(as_printed(point)) for point in points}
    alone = bdqs_consistency.figure_of(found, quick=True)
    assert any("ElasticMQ" in each and "left out" in each for each in alone.readings)
    found |= {point: twice(RUN) for point in hint_points(PLAIN, quick=True)}
    beside = bdqs_consistency.figure_of(found, quick=True)
    assert not any("left out" in each for each in beside.readings)
    labels = {curve.label for panel in beside.panels for curve in panel.curves}
    assert "elasticmq, 3 receivers" in labels
    own = [each for each in beside.verdicts if each.claim != "no message is lost"]
    assert own == [each for each in alone.verdicts if each.claim != "no message is lost"]


def test_second_system_gets_none_of_our_attributes() -> None:
    (point, *_) = hint_points(PLAIN, quick=True)
    assert point.workload(20).attributes == {}


def test_point_is_a_queue_with_these_attributes() -> None:
    assert HintPoint("none", "2", 3, literal=True).workload(20).attributes == {
        "Coordination": "none",
        "OrderHint": "2",
        "ReceiveDraw": "literal",
    }
    assert BdqsWorkload("lease", "any").attributes == {"OrderHint": "any"}


def test_claims_hold_for_what_the_paper_prints() -> None:
    figure = hint_figure(as_printed)
    assert {each.holds for each in figure.verdicts} == {True}


def test_claims_fail_for_the_reverse() -> None:
    def reversed_hints(point: HintPoint) -> BdqsRun:
        fixed = ("1", "2", "3")
        if point.hint not in fixed:
            return as_printed(point)
        hint = fixed[2 - fixed.index(point.hint)]
        return as_printed(replace(point, hint=hint))

    verdicts = hint_figure(reversed_hints).verdicts
    for text in ("almost all in order", "share out of order grows", "duplicates fall"):
        assert holds(verdicts, text) == {False}


def test_lost_message_fails_its_claim_and_is_told() -> None:
    figure = hint_figure(
        lambda point: replace(as_printed(point), lost=1, histories=("sent; acknowledged",))
    )
    assert holds(figure.verdicts, "no message is lost") == {False}
    assert "sent; acknowledged" in figure.readings[-1]


def test_figure_of_hints_is_published(tmp_path: Path) -> None:
    files = publish("bdqs-fig6", hint_figure(as_printed), tmp_path)
    assert {path.suffix for path in files} == {".parquet", ".csv", ".json", ".png", ".svg"}


def fault_runs(
    series: Iterable[str], places: Iterable[float], at_worst: BdqsRun
) -> dict[FaultPoint, list[BdqsRun]]:
    xs = list(places)
    return {
        FaultPoint(name, x): twice(at_worst if x == xs[-1] else RUN) for name in series for x in xs
    }


def test_failures_of_clients_and_network_as_printed(tmp_path: Path) -> None:
    worse = replace(RUN, send_rate=190.0, duplication_rate=0.4, average_displacement=3.0)
    found = fault_runs(bdqs_faults.KINDS, (0.0, 0.001, 0.01, 0.1), worse)
    figure = bdqs_faults.chance_figure(found, quick=True)
    assert {each.holds for each in figure.verdicts} == {True}
    assert publish("bdqs-fig7", figure, tmp_path)


def test_lines_follow_the_axis_although_points_ran_in_another_order() -> None:
    found = fault_runs(bdqs_faults.KINDS, (0.1, 0.0, 0.01, 0.001), RUN)
    figure = bdqs_faults.chance_figure(found, quick=True)
    assert {curve.x for panel in figure.panels for curve in panel.curves} == {(1.0, 2.0, 3.0, 4.0)}
    assert list(figure.data["probability"]) == [0.0, 0.001, 0.01, 0.1] * 2


def test_network_that_slows_sends_fails_its_claim() -> None:
    slow = replace(RUN, send_rate=20.0, average_displacement=3.0)
    found = fault_runs(bdqs_faults.KINDS, (0.0, 0.001, 0.1), slow)
    figure = bdqs_faults.chance_figure(found, quick=True)
    assert holds(figure.verdicts, "performance degrades slightly") == {False}


def test_failures_of_servers_as_printed(tmp_path: Path) -> None:
    worse = replace(RUN, receive_rate=60.0, duplication_rate=0.1)
    found = fault_runs(bdqs_faults.STORES, (10_000.0, 1_000.0, 100.0), worse)
    figure = bdqs_faults.mttf_figure(found, {100.0: [9.0] * 7, 10_000.0: []}, quick=True)
    assert {each.holds for each in figure.verdicts} == {True}
    assert any("7 at 100 s, 0 at 10000 s" in each for each in figure.readings)
    assert any("Down times: 9 s" in each for each in figure.readings)
    assert publish("bdqs-fig8", figure, tmp_path)


def measured_as_simulated(delays: tuple[float, ...] = (0.0,)) -> ServersMeasured:
    """Rates that the simulation itself gives, so that it predicts them."""
    costs = {count: [PhaseCosts(COST, RequestCost(0.001, 0.005))] * 2 for count in (1, 3)}
    empty = ServersMeasured({}, costs, "a quarter of a core")
    runs = {}
    for count in costs:
        for queues in (1, 8):
            for delay_s in delays:
                point = LoadPoint(count, queues, delay_s)
                send, receive = (simulated(empty, point, phase, 0) for phase in PHASES)
                runs[point] = twice(
                    replace(
                        RUN,
                        send_rate=send.rate.mean,
                        send_time=send.response.mean,
                        receive_rate=receive.rate.mean,
                        receive_time=receive.response.mean,
                    )
                )
    return ServersMeasured(runs, costs, "a quarter of a core")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("bdqs_performance.CYCLES", 1_000),
        ("bdqs_performance.CYCLES_OF_A_CLIENT", 2),
        ("bdqs_scaling.SERVERS_SIMULATED", (10, 20)),
        ("bdqs_scaling.SERVERS_FITTED", (10,)),
        ("bdqs_scaling.QUEUES_SIMULATED", (20, 100)),
        ("bdqs_scaling.QUEUES_HIGHEST", 100),
        ("bdqs_station.FIT_STEPS", 5),
    ):
        monkeypatch.setattr(f"dovemq.experiments.{name}", value)


@pytest.mark.usefixtures("short")
def test_throughput_that_was_simulated_is_predicted_and_linear(tmp_path: Path) -> None:
    figure = bdqs_scaling.throughput_figure(measured_as_simulated(), EFFORT)
    assert holds(figure.verdicts, "predicts what was measured") == {True}
    assert holds(figure.verdicts, "grows linearly") <= {True, False}
    assert holds(figure.verdicts, "more servers deliver more") == {True}
    assert holds(figure.verdicts, "slower than sending") == {True}
    assert publish("bdqs-fig4", figure, tmp_path)


@pytest.mark.usefixtures("short")
def test_measured_rate_far_from_the_simulation_fails_its_claim() -> None:
    measured = measured_as_simulated()
    runs = {
        point: [replace(run, send_rate=3 * run.send_rate) for run in each]
        for point, each in measured.runs.items()
    }
    figure = bdqs_scaling.throughput_figure(replace(measured, runs=runs), EFFORT)
    assert holds(figure.verdicts, "predicts what was measured (send)") == {False}


@pytest.mark.usefixtures("short")
def test_response_times_are_fitted_and_drawn(tmp_path: Path) -> None:
    figure = bdqs_scaling.response_figure(measured_as_simulated((0.0, 0.2)), EFFORT)
    assert holds(figure.verdicts, "follows M/M/k")
    assert publish("bdqs-fig5", figure, tmp_path)


def test_fit_finds_the_station_that_made_the_times() -> None:
    rates = np.linspace(20.0, 390.0, 15)
    times = mmc(rates, 100.0, 4).sojourn_time
    fit = fitted_station(rates.tolist(), times.tolist())
    assert fit.share > 0.95
    assert fit.servers / fit.service_s == pytest.approx(400.0, rel=0.1)


def test_fit_bears_a_full_station_whose_clients_alone_grow() -> None:
    """Rates differ by noise there, while response times grow by any factor."""
    rates = [40.0, 120.0, 300.0, 398.0, 402.0, 399.0, 401.0]
    times = [0.01, 0.01, 0.0125, 0.25, 0.5, 1.0, 2.0]
    fit = fitted_station(rates, times)
    assert fit.share > 0.95
    assert fit.rate_max == pytest.approx(400.0, rel=0.05)


def test_fit_explains_little_of_times_that_fall_with_the_rate() -> None:
    rates = [10.0, 50.0, 100.0, 200.0, 400.0]
    assert fitted_station(rates, [2.0, 1.0, 0.4, 0.1, 0.01]).share < 0.5


def test_model_of_servers_has_the_clients_of_all_queues() -> None:
    model = model_of(COST, 50, 400, 3, 0.25)
    assert (model.nodes, model.clients, model.replicas) == (50, 1_200, 3)
    assert model.rate_max == pytest.approx(50 * 0.25 / 0.004)


def test_fixed_k_that_is_better_in_both_fails_its_claim() -> None:
    better = bdqs_adaptive.HintOutcome((0.1, 0.11, 0.1), (1.0, 1.1, 1.0))
    adaptive = bdqs_adaptive.HintOutcome((0.3, 0.31, 0.3), (3.0, 3.1, 3.0))
    mixed = bdqs_adaptive.HintOutcome((0.1, 0.11, 0.1), (9.0, 9.1, 9.0))
    unsure = bdqs_adaptive.HintOutcome((0.1, 0.5, 0.1), (1.0, 4.1, 1.0))
    found = {"2": better, "3": unsure, "8": mixed, "adaptive": adaptive}
    verdicts = list(bdqs_adaptive.adaptive_claims("few", found))
    assert holds(verdicts, "K = 2 ") == {False}
    assert holds(verdicts, "K = 3 ") == {None}
    assert holds(verdicts, "K = 8 ") == {True}
