"""The Petri net in experiments: its pages as figures, and its answers beside other methods."""

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dovemq.cli import main
from dovemq.experiments.catalogue import EXPERIMENTS
from dovemq.experiments.figure import Effort
from dovemq.experiments.vma_pages import NAMED, PAGES, TITLES, page_claims, paper_nets
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.petri import Net
from dovemq.models.petri.vma import simulate_vma
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.vma.methods import METHODS, by_formula, by_petri_net
from dovemq.models.vma.parameters import PAPER, Failure, Order, VmaParameters

FIGURE = {int(name.partition("-fig")[2]): name for name in TITLES}


@pytest.mark.parametrize("name", TITLES)
def test_page_of_the_paper_is_drawn_with_its_nodes(name: str) -> None:
    figure = EXPERIMENTS[name].run(Effort())
    assert ElementTree.fromstring(figure.drawings["page"]) is not None
    assert len({len(column) for column in figure.data.values()}) == 1
    assert len(figure.data["name"]) > 2


def _holds(name: str, nets: dict[Order, Net]) -> dict[str, bool | None]:
    return {each.claim.split(":")[0]: each.holds for each in page_claims(name, nets)}


@pytest.mark.parametrize("name", NAMED)
def test_page_without_a_named_node_does_not_hold(name: str) -> None:
    claim = "the page has what the text names"
    page, order = PAGES[name]
    for node in NAMED[name]:
        nets = paper_nets()
        assert _holds(name, nets)[claim] is True
        there = nets[order].pages[page]
        for nodes in (there.places, there.transitions, there.substitutions):
            nodes.pop(node, None)
        assert _holds(name, nets)[claim] is False


def test_hierarchy_of_three_levels_holds() -> None:
    nets = paper_nets()
    assert set(_holds("vma-fig3", nets).values()) == {False}
    nets["out"].pages["Broker"].substitutions.clear()
    assert set(_holds("vma-fig3", nets).values()) == {True}


def test_send_proc_of_the_printed_size_holds() -> None:
    nets = paper_nets()
    claim = "Send_Proc has 13 places and 7 transitions"
    assert _holds("vma-fig6", nets)[claim] is False
    page = nets["out"].pages["Send_Proc"]
    place, transition = next(iter(page.places.values())), next(iter(page.transitions.values()))
    page.places |= {f"more {n}": place for n in range(13 - len(page.places))}
    page.transitions |= {f"more {n}": transition for n in range(7 - len(page.transitions))}
    assert _holds("vma-fig6", nets)[claim] is True


def test_orders_that_differ_in_broker_alone_hold() -> None:
    nets = paper_nets()
    claim = "only Broker differs between the orders"
    assert _holds("vma-fig10", nets)[claim] is False
    nets["in"].pages |= {name: page for name, page in nets["out"].pages.items() if name != "Broker"}
    assert _holds("vma-fig10", nets)[claim] is True


def test_get_without_a_guard_does_not_hold() -> None:
    nets = paper_nets()
    claim = "Get_Oldest_Msg waits by a guard until the next message has come"
    assert _holds("vma-fig10", nets)[claim] is True
    del nets["in"].pages["Broker"].transitions["Get_Oldest_Msg"]
    assert _holds("vma-fig10", nets)[claim] is False


def test_page_is_written_as_files(tmp_path: Path) -> None:
    assert main(["reproduce", "vma-fig7", "--out", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"vma-fig7-page.svg", "vma-fig7.csv", "vma-fig7.parquet"} <= names


def test_net_agrees_with_the_closed_form() -> None:
    scenario = VmaParameters(30.3, 10.0, 10.0, 6, 6, reliability=0.88)
    exact = by_formula(scenario).measures
    found = by_petri_net(scenario, SimulationRun(60, replications=6)).measures
    assert METHODS["petri"] is by_petri_net
    assert set(found) == set(exact)
    for name, estimate in found.items():
        assert estimate.mean == pytest.approx(exact[name].mean, rel=0.25), name


def test_net_reports_overload_and_refuses_unsupported_scenarios() -> None:
    overload = VmaParameters(30.3, 10.0, 10.0, 3, 6, reliability=0.9)
    answer = by_petri_net(overload, SimulationRun(5, replications=2))
    assert answer.unstable == ("sender",)
    with pytest.raises(ModelParameterInvalid, match="a whole number"):
        by_petri_net(VmaParameters(1, 1, 1, 2.5, 2), SimulationRun(1))
    with pytest.raises(ModelParameterInvalid, match="closed form"):
        by_petri_net(VmaParameters(1, 2, 2, 2, 2, gets_max=3), SimulationRun(1))


@pytest.mark.parametrize("order", ["out", "in"])
@pytest.mark.parametrize("failure", ["ideal", "timer"])
def test_net_agrees_with_the_kernel_where_no_formula_does(order: Order, failure: Failure) -> None:
    timeout = 2.0 if failure == "timer" else 0.0
    given = replace(
        PAPER, reliability=0.88, order=order, failure=failure, visibility_timeout=timeout
    )
    net = simulate_vma(
        given,
        replications=8,
        duration_s=60,
        warmup_s=10,
        seed=3,
        confidence=0.99,
    )
    kernel = simulate_tandem(
        given, SimulationRun(horizon=1_000, warm_up=100, replications=8, seed=4)
    )
    ours = {"delivery": net.delivery_time_s, "waiting": net.waiting, "busy": net.broker_any_busy}
    theirs = {
        "delivery": kernel.sojourn, "waiting": kernel.waiting, "busy": kernel.broker_any_busy
    }  # fmt: skip
    for name, interval in ours.items():
        other = theirs[name]
        width = math.hypot(interval.half_width, 2 * (other.half_width or 0.0))
        assert abs(interval.mean - other.mean) <= width, name
