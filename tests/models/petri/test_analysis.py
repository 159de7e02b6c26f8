"""Invariants, unfolding, PNML and net files."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import nets
from dovemq.models.petri import (
    Net,
    NetInvalid,
    NetTooLarge,
    Simulation,
    place_basis,
    read_net,
    read_pnml,
    semi_positive,
    state_space,
    transition_basis,
    unfolded,
    write_net,
    write_pnml,
)
from dovemq.models.petri.invariants import nullspace
from dovemq.models.petri.vma import vma_net
from dovemq.models.vma.parameters import PAPER

PT_NETS = [
    nets.kanban(1),
    nets.fms(1),
    nets.philosophers(4),
    nets.readers_writers(4, 2),
    nets.token_ring(3),
]


@pytest.mark.parametrize("net", PT_NETS, ids=lambda net: net.name)
def test_place_invariants_hold_in_every_reachable_marking(net: Net) -> None:
    space = state_space(net)
    found = [*place_basis(net), *semi_positive(net, "place")]
    assert found
    for invariant in found:
        sums = set()
        for at in range(space.markings):
            marking = space.marking(at)
            sums.add(sum(weight * marking[name].size for name, weight in invariant.weights))
        assert len(sums) == 1


def test_kanban_has_one_invariant_for_each_cell() -> None:
    texts = {str(each) for each in semi_positive(nets.kanban(2), "place")}
    assert {f"kanban{cell} + m{cell} + back{cell} + out{cell}" for cell in range(1, 5)} <= texts


@pytest.mark.parametrize("net", PT_NETS, ids=lambda net: net.name)
def test_firings_of_a_transition_invariant_restore_the_marking(net: Net) -> None:
    space = state_space(net)
    for invariant in transition_basis(net):
        changes: dict[str, int] = dict.fromkeys(space.bounds(), 0)
        effects = _effects(net)
        for name, times in invariant.weights:
            for place, amount in effects[name].items():
                changes[place] += times * amount
        assert not any(changes.values())


def _effects(net: Net) -> dict[str, dict[str, int]]:
    """The change that each transition makes, read from its arcs."""
    (page,) = net.pages.values()
    found: dict[str, dict[str, int]] = {name: {} for name in page.transitions}
    for arc in page.arcs:
        weight = int(arc.expression.removeprefix("times(").partition(",")[0])
        own = found[arc.transition]
        own[arc.place] = own.get(arc.place, 0) + (-weight if arc.inward else weight)
    return found


def _matrices(width: int) -> st.SearchStrategy[list[list[int]]]:
    row = st.lists(st.integers(-4, 4), min_size=width, max_size=width)
    return st.lists(row, min_size=1, max_size=6)


@settings(deadline=None)
@given(st.integers(1, 5).flatmap(_matrices))
def test_nullspace_has_full_rank_and_whole_numbers(rows: list[list[int]]) -> None:
    basis = nullspace(rows)
    for vector in basis:
        assert any(vector)
        for column in zip(*rows, strict=True):
            assert sum(a * b for a, b in zip(vector, column, strict=True)) == 0
    rank = int(np.linalg.matrix_rank(np.array(rows)))
    assert len(basis) == len(rows) - rank
    if basis:
        assert int(np.linalg.matrix_rank(np.array(basis, dtype=float))) == len(basis)


def test_invariants_of_a_coloured_net_need_its_unfolding() -> None:
    net = nets.coloured_philosophers(3)
    with pytest.raises(NetInvalid, match="unfold this net first"):
        place_basis(net)
    assert len(place_basis(unfolded(net))) == 6


def test_unfolding_marks_outside_when_a_value_leaves_its_colour_set() -> None:
    net = read_net(json.dumps({
        "net": "over", "colours": {"N": {"int": [0, 2]}}, "variables": {"n": "N"},
        "pages": {"Main": {"places": {"p": {"colour": "N", "initial": "0"}},
                           "transitions": {"up": {}},
                           "arcs": [["p", "up", "n"], ["up", "p", "n + 1"]]}}}))  # fmt: skip
    space = state_space(unfolded(net))
    assert space.bounds()["outside"] == (0, 1)


def test_unfolding_has_a_limit() -> None:
    net = nets.simple_protocol(2_000, 1)
    with pytest.raises(NetTooLarge, match="200000 bindings"):
        unfolded(net)


@pytest.mark.parametrize("net", PT_NETS, ids=lambda net: net.name)
def test_pt_net_survives_writing_and_reading_as_pnml(net: Net) -> None:
    again = read_pnml(write_pnml(net))
    assert again.name == net.name
    ours, theirs = state_space(net), state_space(again)
    assert ours.bounds() == theirs.bounds()
    assert (ours.markings, ours.edges) == (theirs.markings, theirs.edges)
    assert write_pnml(again) == write_pnml(net)


FOREIGN_PNML = """<?xml version="1.0"?>
<pnml><net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="g">
<place id="a"><name><text>My place</text></name>
 <initialMarking><text>Default,3</text></initialMarking>
 <graphics><position x="10" y="20"/></graphics></place>
<place id="b"><name><text>My place</text></name></place>
<referencePlace id="r" ref="b"/>
<transition id="t"/>
<arc id="1" source="a" target="t"><inscription><value>2</value><text>2</text></inscription></arc>
<arc id="2" source="t" target="r"/>
</page></net></pnml>"""


def test_pnml_of_another_tool_is_read() -> None:
    net = read_pnml(FOREIGN_PNML)
    (page,) = net.pages.values()
    assert list(page.places) == ["My_place", "My_place_2"]
    assert page.places["My_place"].position == (10.0, 20.0)
    space = state_space(net)
    assert space.markings == 2
    assert space.marking(1)["My_place_2"].size == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<pnml", "this is not XML"),
        ("<pnml/>", "the document holds no net"),
        ('<!DOCTYPE x [<!ENTITY e "e">]><pnml/>', "document type is refused"),
        ('<pnml><net type="x/highlevel"/></pnml>', "only P/T nets and symmetric nets are read"),
        ('<net><place id="a"/><place id="a"/></net>', "is empty or not unique"),
        ('<net><place id="a"/><arc source="a" target="z"/></net>', "target 'z' does not exist"),
        (
            '<net><place id="a"><initialMarking><text>-1</text></initialMarking></place></net>',
            "is not a count",
        ),
    ],
)
def test_invalid_pnml_is_refused(text: str, problem: str) -> None:
    with pytest.raises(NetInvalid) as error:
        read_pnml(text)
    assert problem in str(error.value)


def test_coloured_net_is_not_written_as_pnml() -> None:
    with pytest.raises(NetInvalid, match="only P/T nets are written"):
        write_pnml(nets.coloured_philosophers(3))


@pytest.mark.parametrize(
    "net",
    [
        nets.coloured_philosophers(3),
        nets.alternating_bit(2),
        nets.simple_protocol(2, 1),
        nets.kanban(1),
        vma_net(replace(PAPER, order="in")),
        vma_net(replace(PAPER, failure="timer", visibility_timeout=0.5)),
    ],
    ids=lambda net: net.name,
)
def test_net_survives_writing_and_reading_as_a_file(net: Net) -> None:
    text = write_net(net)
    again = read_net(text)
    assert write_net(again) == text
    ours, theirs = Simulation(net, seed=4), Simulation(again, seed=4)
    assert ours.run(steps=500) == theirs.run(steps=500)
    assert ours.markings() == theirs.markings()


def test_net_with_a_python_function_cannot_be_written() -> None:
    net = Net("foreign")
    net.foreign("f", lambda: 1)
    net.page("Main")
    with pytest.raises(NetInvalid, match="f is a Python function"):
        write_net(net)


SMALL: dict[str, Any] = {
    "net": "small",
    "colours": {"N": "int"},
    "variables": {"n": "N"},
    "pages": {
        "Main": {
            "places": {"p": {"colour": "N", "initial": "0"}},
            "transitions": {"t": {}},
            "arcs": [["p", "t", "n"]],
        }
    },
}


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (("net",), 3, "Expected `str`, got `int` - at `$.net`"),
        (("time",), "slow", "Invalid enum value 'slow' - at `$.time`"),
        (("colour",), {}, "unknown field `colour`; the known fields are net, time"),
        (("colours", "N"), "nope", "unknown colour 'nope'"),
        (("colours", "N"), {"int": [1]}, "colour N: Expected `array` of length 2"),
        (("colours", "N"), {"enum": []}, "colour N: the colour set has no values"),
        (("colours", "N"), {"list": {"of": "int", "length_max": -1}}, "Expected `int` >= 0"),
        (("variables", "n"), 1, "Expected `str`"),
        (("constants",), [1], "Expected `object`"),
        (("functions",), {"f": {"body": 3}}, "Expected `str`"),
        (("pages", "Main", "nodes"), {}, "page Main: Object contains unknown field `nodes`"),
        (("pages", "Main", "arcs"), [["p"]], "length >= 2 - at `$.arcs[0]`"),
        (("pages", "Main", "arcs"), 3, "Expected `array`, got `int` - at `$.arcs`"),
        (("pages", "Main", "places", "p", "initial"), 3, "place p: Expected `str`"),
        (("pages", "Main", "places", "p", "port"), "up", "Invalid enum value 'up' - at `$.port`"),
        (("pages", "Main", "places", "p", "at"), "soon", "Expected `int | float`"),
        (("pages", "Main", "places", "p", "position"), [1], "Expected `array` of length 2"),
        (("pages", "Main", "transitions", "t", "priority"), 1.5, "transition t: Expected `int`"),
        (("pages", "Main", "transitions", "t", "code"), [], "Expected `object`"),
    ],
)
def test_error_of_an_invalid_file_names_the_part(
    path: tuple[str, ...], value: object, problem: str
) -> None:
    form = json.loads(json.dumps(SMALL))
    spot = form
    for key, _ in pairwise(path):
        spot = spot.setdefault(key, {})
    spot[path[-1]] = value
    with pytest.raises(NetInvalid) as error:
        read_net(json.dumps(form))
    assert problem in str(error.value)
