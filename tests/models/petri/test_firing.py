"""Firing: which tokens are taken and put, in which order and when."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.models.petri import (
    Bool,
    Enum,
    Int,
    List,
    Multiset,
    Net,
    Page,
    Product,
    Real,
    Record,
    Simulation,
    Unit,
    checked,
)
from dovemq.models.petri.containers import TokenBag
from dovemq.models.petri.firing import compiled
from dovemq.models.petri.functions import chance_calls


def _net(**places: str) -> tuple[Net, Page]:
    net = Net("test")
    net.colour("N", Int())
    net.colour("Pair", Product((Int(), Int())))
    net.colour("Q", List(Int()))
    net.colour("Later", Int(timed=True))
    net.colour("M", Record(fields=(("id", Int()), ("ok", Bool()))))
    net.variable("n k", "N")
    net.variable("q", "Q")
    net.variable("m", "M")
    page = net.page("Main")
    for name, text in places.items():
        colour, _, initial = text.partition("=")
        page.place(name, colour, initial=initial or "none")
    return net, page


def _ran(net: Net, steps: int = 1, seed: int = 0) -> Simulation:
    simulation = Simulation(net, seed=seed)
    simulation.run(steps=steps)
    return simulation


def test_tokens_are_bound_across_places() -> None:
    net, page = _net(Left="Pair=tokens((1, 5), (2, 6))", Right="N=tokens(6)", Out="Pair")
    page.transition("join")
    page.arc("Left", "join", "(n, k)")
    page.arc("Right", "join", "k")
    page.arc("join", "Out", "(k, n)")
    simulation = _ran(net, steps=9)
    assert simulation.steps == 1
    assert simulation.marking("Out") == Multiset([(6, 2)])
    assert simulation.marking("Left") == Multiset([(1, 5)])


def test_guard_is_tested_on_every_token() -> None:
    net, page = _net(In="N=tokens(1, 2, 3, 4, 5, 6)", Out="N")
    page.transition("even", guard="n % 2 == 0")
    page.arc("In", "even", "n")
    page.arc("even", "Out", "n")
    assert _ran(net, steps=9).marking("Out") == Multiset([2, 4, 6])


def test_several_tokens_are_taken_at_once() -> None:
    net, page = _net(In="N=times(5, 1) + times(3, 2)", Out="N")
    page.transition("three")
    page.arc("In", "three", "times(3, n)")
    page.arc("three", "Out", "n")
    simulation = _ran(net, steps=9)
    assert simulation.marking("Out") == Multiset([1, 2])
    assert simulation.marking("In") == Multiset({1: 2})


def test_two_arcs_do_not_share_one_token() -> None:
    net, page = _net(In="N=tokens(7)", Out="Pair")
    page.transition("two")
    page.arc("In", "two", "tokens(n, k)")
    page.arc("two", "Out", "(n, k)")
    assert _ran(net).steps == 0
    net, page = _net(In="N=tokens(7, 7)", Out="Pair")
    page.transition("two")
    page.arc("In", "two", "n")
    page.arc("In", "two", "k")
    page.arc("two", "Out", "(n, k)")
    assert _ran(net).marking("Out") == Multiset([(7, 7)])


def test_list_pattern_takes_the_first_element() -> None:
    net, page = _net(Line="Q=[3, 1, 2]", Out="Q=[]")
    page.transition("move")
    page.flow("Line", "move", "[n, *q]", "q")
    net.variable("r", "Q")
    page.flow("Out", "move", "r", "[*r, n]")
    simulation = _ran(net, steps=9)
    assert simulation.steps == 3
    assert simulation.marking("Out") == Multiset([(3, 1, 2)])


def test_last_element_is_matched_behind_a_star() -> None:
    net, page = _net(Line="Q=[3, 1, 2]", Out="N")
    page.transition("pop")
    page.flow("Line", "pop", "[*q, n]", "q")
    page.arc("pop", "Out", "n")
    assert _ran(net).marking("Out") == Multiset([2])


def test_record_pattern_binds_fields_and_replace_changes_them() -> None:
    net, page = _net(Out="M")
    page.place("In", "M", initial="tokens(M(id=1, ok=False), M(id=2, ok=True))")
    page.transition("pick")
    page.arc("In", "pick", "M(id=n, ok=True)")
    page.arc("pick", "Out", "replace(M(id=n, ok=True), id=n + 10)")
    simulation = _ran(net, steps=5)
    (made,) = simulation.marking("Out")
    assert (made.id, made.ok) == (12, True)


def test_condition_on_an_arc_decides_what_is_taken_and_put() -> None:
    net, page = _net(In="N=tokens(1, 2)", Store="N=tokens(5)", Out="N")
    page.transition("use")
    page.arc("In", "use", "n")
    page.arc("Store", "use", "tokens(5) if n == 2 else none")
    page.arc("use", "Out", "times(n, n) if n == 2 else tokens(n)")
    simulation = _ran(net, steps=5)
    assert simulation.marking("Store") == Multiset()
    assert simulation.marking("Out") == Multiset([1, 2, 2])


def test_list_is_spread_over_tokens() -> None:
    net, page = _net(In="Q=[4, 4, 6]", Out="N")
    page.transition("spread")
    page.arc("In", "spread", "q")
    page.arc("spread", "Out", "all_of(q)")
    assert _ran(net).marking("Out") == Multiset([4, 4, 6])


def test_equation_in_a_guard_binds_a_variable() -> None:
    net, page = _net(In="N=tokens(3)", Squares="N=tokens(1, 4, 9)", Out="N")
    page.transition("look", guard="k == n * n")
    page.arc("In", "look", "n")
    page.arc("Squares", "look", "k")
    page.arc("look", "Out", "k")
    assert _ran(net).marking("Out") == Multiset([9])


def test_code_segment_binds_in_order() -> None:
    net, page = _net(In="N=tokens(3)", Out="Pair")
    net.variable("a b", "N")
    page.transition("count", code={"a": "n + 1", "b": "a * 2"})
    page.arc("In", "count", "n")
    page.arc("count", "Out", "(a, b)")
    assert _ran(net).marking("Out") == Multiset([(4, 8)])


def test_most_urgent_transition_fires_first() -> None:
    net, page = _net(In="N=tokens(1, 2, 3)", Slow="N", Fast="N")
    for name, priority in (("slow", 10), ("fast", 1)):
        page.transition(name, priority=priority)
        page.arc("In", name, "n")
        page.arc(name, name.capitalize(), "n")
    simulation = _ran(net, steps=9)
    assert simulation.marking("Fast").size == 3


def test_token_can_be_taken_only_when_it_is_due() -> None:
    net, page = _net(In="N=tokens(1)", Wait="Later", Out="N")
    page.transition("start", delay="2")
    page.arc("In", "start", "n")
    page.arc("start", "Wait", "n", delay="3")
    page.transition("end")
    page.arc("Wait", "end", "n")
    page.arc("end", "Out", "n")
    simulation = Simulation(net)
    assert simulation.run(until=4.5).reason == "until"
    assert simulation.marking("Wait") == Multiset([1])
    assert simulation.timed_marking("Wait") == [(5, 1)]
    ending = simulation.run()
    assert (ending.reason, ending.now, ending.steps) == ("dead", 5, 2)


def test_initial_tokens_can_come_later() -> None:
    net, page = _net(Out="N")
    page.place("In", "Later", initial="tokens(1, 2)", at=7.5)
    page.transition("go")
    page.arc("In", "go", "n")
    page.arc("go", "Out", "n")
    simulation = Simulation(net)
    assert simulation.run(until=7).steps == 0
    assert simulation.run().now == 7.5
    assert simulation.marking("Out") == Multiset([1, 2])


def test_guard_may_read_the_time() -> None:
    net, page = _net(Out="N")
    page.place("In", "Later", initial="1")
    page.place("Clock", "Later", initial="0")
    page.transition("tick", guard="k < 5")
    page.flow("Clock", "tick", "k", "k + 1", delay="1")
    page.transition("go", guard="now >= 3")
    page.arc("In", "go", "n")
    page.arc("go", "Out", "n")
    simulation = Simulation(compiled(checked(net), traced=True))
    times = {}
    while (event := simulation.step()) is not None:
        times[event.transition] = event.now
    assert times["go"] == 3


def test_same_seed_gives_the_same_run_and_another_a_different_one() -> None:
    net, page = _net(In="N=all_of([1, 2, 3, 4, 5, 6, 7, 8])", Out="N")
    page.transition("go")
    page.arc("In", "go", "n")
    page.arc("go", "Out", "n")
    made = compiled(checked(net), traced=True)

    def order(seed: int) -> list[Any]:
        simulation = Simulation(made, seed=seed)
        return [event.binding["n"] for event in iter(simulation.step, None)]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert sorted(order(2)) == list(range(1, 9))


def test_every_binding_can_be_chosen() -> None:
    net, page = _net(In="N=tokens(1, 2, 3)", Out="N")
    page.transition("go")
    page.arc("In", "go", "n")
    page.arc("go", "Out", "n")
    made = compiled(checked(net))
    firsts = set()
    for seed in range(40):
        simulation = Simulation(made, seed=seed)
        simulation.run(steps=1)
        firsts |= set(simulation.marking("Out"))
    assert firsts == {1, 2, 3}


def test_free_variable_takes_random_values() -> None:
    net, page = _net()
    net.colour("Coin", Enum(names=("head", "tail")))
    net.variable("c", "Coin")
    page.place("Left", initial=1_000)
    page.place("Seen", "Coin")
    page.transition("toss")
    page.arc("Left", "toss")
    page.arc("toss", "Seen", "c")
    seen = _ran(net, steps=1_000).marking("Seen")
    assert 420 < seen["head"] < 580
    assert seen.size == 1_000


def test_random_times_have_their_means() -> None:
    calls = chance_calls(random.Random(5))
    draws: dict[str, tuple[Callable[[], float], float]] = {
        "exponential": (lambda: calls["exponential"](4.0), 0.25),
        "erlang": (lambda: calls["erlang"](3, 6.0), 0.5),
        "gamma": (lambda: calls["gamma"](0.5, 2.0), 0.25),
        "hyperexponential": (lambda: calls["hyperexponential"]((0.5, 0.5), (1.0, 4.0)), 0.625),
        "uniform": (lambda: calls["uniform"](1, 3), 2.0),
        "discrete": (lambda: calls["discrete"](1, 4), 2.5),
        "bernoulli": (lambda: calls["bernoulli"](0.3), 0.3),
        "pick": (lambda: calls["pick"]((1, 2, 6)), 3.0),
    }
    for name, (draw, mean) in draws.items():
        values = [draw() for _ in range(20_000)]
        assert sum(values) / len(values) == pytest.approx(mean, rel=0.05), name


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_run_of_a_pt_net_keeps_to_the_firing_rule(data: st.DataObject) -> None:
    """Compares a run with the firing rule itself."""
    places = data.draw(st.integers(1, 5))
    weights = st.lists(st.integers(0, 2), min_size=places, max_size=places)
    rules = data.draw(st.lists(st.tuples(weights, weights), min_size=1, max_size=5))
    marking = data.draw(st.lists(st.integers(0, 4), min_size=places, max_size=places))
    net = Net("random")
    page = net.page("Main")
    for place, tokens in enumerate(marking):
        page.place(f"p{place}", initial=tokens)
    for number, (takes, puts) in enumerate(rules):
        page.transition(f"t{number}")
        for place in range(places):
            if takes[place]:
                page.arc(f"p{place}", f"t{number}", weight=takes[place])
            if puts[place]:
                page.arc(f"t{number}", f"p{place}", weight=puts[place])
    simulation = Simulation(compiled(checked(net), traced=True), seed=data.draw(st.integers(0, 99)))
    for _ in range(40):
        event = simulation.step()
        enabled = [all(h >= t for h, t in zip(marking, takes, strict=True)) for takes, _ in rules]
        if event is None:
            assert not any(enabled)
            break
        number = int(event.transition[1:])
        assert enabled[number]
        takes, puts = rules[number]
        marking = [h - t + p for h, t, p in zip(marking, takes, puts, strict=True)]
        found = [simulation.marking(f"p{place}").size for place in range(places)]
        assert found == marking


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.integers(1, 3)), max_size=60))
def test_bag_counts_like_a_multiset(moves: list[tuple[bool, int, int]]) -> None:
    bag, model = TokenBag(), dict.fromkeys(range(5), 0)
    for adds, value, count in moves:
        if adds:
            bag.add(value, count)
            model[value] += count
        elif model[value] >= count:
            assert bag.holds([(value, count)])
            bag.take(value, count)
            model[value] -= count
        else:
            assert not bag.holds([(value, count)])
    assert dict(zip(bag.keys, bag.counts, strict=True)) == {v: c for v, c in model.items() if c}
    assert bag.size == sum(model.values())


def test_multisets_add_take_away_and_compare() -> None:
    one, other = Multiset([1, 1, 2]), Multiset({1: 1, 3: 2})
    assert one + other == Multiset([1, 1, 1, 2, 3, 3])
    assert (one + other) - other == one
    assert Multiset([1]) <= one
    assert not other <= one
    assert str(one) == "2`1 + 1`2"
    with pytest.raises(ValueError, match="fewer than 0"):
        Multiset([1]) - Multiset([2])


def test_real_and_unit_colours_hold_their_values() -> None:
    assert Real().admits(0.5)
    assert not Real().admits(float("nan"))
    assert Unit().admits(())
