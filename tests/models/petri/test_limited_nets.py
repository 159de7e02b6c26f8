"""Inhibitor arcs, reset arcs and capacities: in PNML, in files, in runs and in state spaces."""

from collections.abc import Callable

import pytest

from dovemq.models.petri import (
    Int,
    Net,
    NetInvalid,
    Page,
    Product,
    Simulation,
    Unit,
    checked,
    page_svg,
    place_basis,
    read_net,
    read_pnml,
    state_space,
    unfolded,
    write_net,
    write_pnml,
)
from dovemq.models.petri.firing import compiled
from tests.models.petri.limited_nets import DIALECTS, pnml_of, random_net

NETS = 40


@pytest.mark.parametrize("seed", range(NETS))
def test_limited_net_has_the_markings_of_its_own_token_game(seed: int) -> None:
    known = random_net(seed)
    dialect = list(DIALECTS.values())[seed % len(DIALECTS)]
    net = read_pnml(pnml_of(known, dialect))
    space = state_space(net)
    assert (space.markings, space.edges) == known.counts()
    for again in (read_pnml(write_pnml(net)), read_net(write_net(net)), unfolded(net)):
        other = state_space(again)
        assert (other.markings, other.edges) == (space.markings, space.edges)


@pytest.mark.parametrize("seed", range(NETS))
def test_run_of_a_limited_net_is_a_path_and_ends_only_at_a_dead_marking(seed: int) -> None:
    net = checked(read_pnml(pnml_of(random_net(seed), DIALECTS["value"])))
    space = state_space(net)
    simulation = Simulation(compiled(net, traced=True), seed=seed)
    at = 0
    for _ in range(200):
        event = simulation.step()
        if event is None:
            assert not space.graph.edges_of(at)
            return
        at = next(to for name, _, to in space.leaving(at) if name == event.transition)
        assert space.marking(at) == simulation.markings()


def _lamp(**options: int) -> Net:
    """`drain` empties a pool of pairs, `fill` adds to it, `idle` needs it to be empty."""
    net = Net("lamp")
    net.colour("Small", Int(0, 1))
    net.colour("Pair", Product((Int(0, 1), Int(0, 1))))
    net.variable("a b", "Small")
    page = net.page("Main")
    page.place("pool", "Pair", **options)
    page.place("rests")
    page.transition("fill")
    page.arc("fill", "pool", "(a, b)")
    page.transition("drain")
    page.reset("pool", "drain")
    page.transition("idle")
    page.inhibitor("pool", "idle")
    page.arc("idle", "rests")
    page.inhibitor("rests", "idle", 2)
    return net


def test_coloured_place_is_limited_and_emptied_by_the_number_of_its_tokens() -> None:
    space = state_space(_lamp(capacity=2))
    # Multisets of at most two of four values: 1 + 4 + 10; the rests are 0, 1 or 2.
    assert space.markings == 15 * 3
    assert space.bounds()["pool"] == (0, 2)
    simulation = Simulation(_lamp(capacity=2), seed=3)
    simulation.run(steps=500)
    assert simulation.marking("rests").size == 2


def test_unfolding_refuses_a_limit_of_the_sum_of_several_values() -> None:
    with pytest.raises(NetInvalid, match="sum of the tokens of pool"):
        unfolded(_lamp(capacity=2))


def test_inhibitor_arc_counts_delayed_tokens_and_a_reset_removes_them() -> None:
    net = Net("timed", time=Int(0))
    net.colour("Late", Unit(timed=True))
    page = net.page("Main")
    page.place("start", initial=1)
    page.place("later", "Late")
    page.place("seen")
    page.place("gone")
    page.transition("go", delay="5")
    page.arc("start", "go")
    page.arc("go", "later")
    page.arc("go", "gone")
    page.transition("look")
    page.inhibitor("later", "look")
    page.arc("gone", "look")
    page.arc("look", "seen")
    page.transition("forget", priority=200)
    page.arc("gone", "forget")
    page.arc("forget", "gone")
    page.reset("later", "forget")
    page.inhibitor("seen", "forget")
    simulation = Simulation(net, traced=True)
    fired = [event.transition for event in iter(simulation.step, None)]
    assert fired == ["go", "forget", "look"]
    assert simulation.now == 0
    assert not simulation.marking("later").size


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda page: page.place("q", capacity=0), "a capacity is at least 1, not 0"),
        (lambda page: page.place("q", capacity=1, initial=2), "exceed its capacity of 1"),
        (lambda page: page.inhibitor("p", "t", 0), "weight must be at least 1"),
        (lambda page: page.reset("t", "p"), "must join a place and a transition"),
        (lambda page: page.arc("t", "p", "times(n, ())"), "constant numbers of tokens"),
    ],
)
def test_invalid_limit_is_refused(change: Callable[[Page], object], problem: str) -> None:
    net = Net("limits")
    net.colour("Small", Int(0, 1))
    net.variable("n", "Small")
    page = net.page("Main")
    page.place("p", capacity=3)
    page.transition("t")

    def check() -> None:
        change(page)
        checked(net)

    with pytest.raises(NetInvalid, match=problem):
        check()


def test_invariants_of_a_net_with_reset_arcs_are_refused() -> None:
    net = Net("reset")
    page = net.page("Main")
    page.place("p", initial=1)
    page.transition("t")
    page.reset("p", "t")
    with pytest.raises(NetInvalid, match="reset arcs has no incidence matrix"):
        place_basis(net)


def test_drawing_shows_inhibitor_arcs_reset_arcs_and_capacities() -> None:
    svg = page_svg(_lamp(capacity=2), "Main")
    assert svg.count('marker-end="url(#ring)"') == 2
    assert svg.count('class="arc"') == 5
    for text in ("Pair, at most 2", "&lt; 1", "&lt; 2", "reset"):
        assert text in svg
