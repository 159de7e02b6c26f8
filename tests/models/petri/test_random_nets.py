"""Random coloured nets have the state space of their unfolding, and runs are paths in it."""

import os
import random
from typing import Any

import pytest

from dovemq.models.petri import (
    Bool,
    Int,
    Limits,
    List,
    Net,
    Product,
    Simulation,
    StateSpace,
    checked,
    state_space,
    unfolded,
)
from dovemq.models.petri.firing import compiled

NETS = int(os.environ.get("DOVETEST_NETS", "40"))
LIMITS = Limits(markings_max=400, tokens_max=6)
COLOURS = ("Small", "Pair", "Flag", "Line", "Unit")
INITIAL = {
    "Small": ["none", "tokens(0, 1)", "times(2, 2)", "tokens(0, 1, 2, 2)"],
    "Pair": ["none", "tokens((0, 1))", "tokens((0, 1), (2, 2), (2, 0))"],
    "Flag": ["none", "True", "tokens(True, False, False)"],
    "Line": ["none", "[]", "[0, 2]"],
    "Unit": ["none", "()", "times(3, ())"],
}
TAKES = {
    "Small": [
        "a",
        "b",
        "0",
        "times(2, a)",
        "tokens(a, b)",
        "(a + 1) % 3",
        "tokens(1) if f else none",
    ],
    "Pair": ["(a, b)", "(a, a)", "(b, 2)", "p", "tokens((a, b), (b, a))"],
    "Flag": ["f", "True", "a == b"],
    "Line": ["q", "[a, *q]", "[*q, b]", "[]", "[a, b]"],
    "Unit": ["()", "times(2, ())", "times(a, ())", "tokens(()) if f else none"],
}
PUTS = {
    "Small": ["a", "(a + b) % 3", "times(a, b)", "none if f else tokens(a)", "len(q) % 3", "p[0]"],
    "Pair": ["(a, b)", "(b, (a + 1) % 3)", "p", "tokens((a, b)) + tokens((a, b))"],
    "Flag": ["f", "not f", "a < b"],
    "Line": ["q", "[a]", "q[1:]", "[b, a] if f else []"],
    "Unit": ["()", "times(b, ())"],
}
GUARDS = ["True", "a != b", "f or a == 1", "b == (a + 1) % 3", "p == (a, b)", "len(q) < 2"]


def _random_net(rng: random.Random) -> Net:
    net = Net("random")
    net.colour("Small", Int(0, 2))
    net.colour("Pair", Product((Int(0, 2), Int(0, 2))))
    net.colour("Flag", Bool())
    net.colour("Line", List(Int(0, 2), 2))
    for names, colour in (("a b", "Small"), ("p", "Pair"), ("f", "Flag"), ("q", "Line")):
        net.variable(names, colour)
    page = net.page("Main")
    kinds = [rng.choice(COLOURS) for _ in range(rng.randint(2, 4))]
    for number, kind in enumerate(kinds):
        page.place(f"p{number}", kind, initial=rng.choice(INITIAL[kind]))
    for number in range(rng.randint(1, 3)):
        name = f"t{number}"
        page.transition(name, guard=rng.choice(GUARDS), priority=rng.choice([100, 100, 50]))
        for table, inward, most in ((TAKES, True, 3), (PUTS, False, 2)):
            for _ in range(rng.randint(int(inward), most)):
                place = rng.randrange(len(kinds))
                ends = (f"p{place}", name) if inward else (name, f"p{place}")
                page.arc(*ends, rng.choice(table[kinds[place]]))
    return net


def _key(name: str, binding: dict[str, Any]) -> tuple[str, tuple[tuple[str, Any], ...]]:
    return name, tuple(sorted(binding.items()))


def _check_run(net: Net, space: StateSpace, seed: int) -> None:
    simulation = Simulation(compiled(checked(net), traced=True), seed=seed)
    at = 0
    for _ in range(30):
        if at + 1 >= len(space.graph.offsets):
            return  # The search stopped at its limit before it came here.
        edges = {_key(name, binding): to for name, binding, to in space.leaving(at)}
        event = simulation.step()
        if event is None:
            assert not edges
            return
        at = edges[_key(event.transition, event.binding)]
        assert space.marking(at) == simulation.markings()


@pytest.mark.parametrize("seed", range(NETS))
def test_random_net_equals_its_unfolding_and_its_runs_are_paths(seed: int) -> None:
    net = _random_net(random.Random(seed))
    space, other = state_space(net, LIMITS), state_space(unfolded(net), LIMITS)
    if space.complete and other.complete:
        assert (space.markings, space.edges) == (other.markings, other.edges)
        assert len(space.dead_markings()) == len(other.dead_markings())
    _check_run(net, space, seed)
