"""State spaces: sizes of classical nets, their properties, and the limits."""

import pytest

from bench import nets
from dovemq.models.petri import (
    Int,
    Limits,
    Multiset,
    Net,
    NetInvalid,
    NetTooLarge,
    Simulation,
    checked,
    state_space,
    unfolded,
)
from dovemq.models.petri.firing import compiled
from tests.models.petri import oracles


@pytest.mark.parametrize(("cards", "markings"), [(1, 160), (2, 4_600), (3, 58_400)])
def test_kanban_has_the_published_number_of_markings(cards: int, markings: int) -> None:
    # Ciardo, Lüttgen, Siminiceanu, Saturation (TACAS 2001), and the tables of SMART.
    assert state_space(nets.kanban(cards)).markings == markings


@pytest.mark.parametrize(("parts", "markings"), [(1, 120), (2, 3_444), (3, 48_590)])
def test_fms_has_the_published_number_of_markings(parts: int, markings: int) -> None:
    # Ciardo and Trivedi, A decomposition approach for stochastic reward net models (1993).
    assert state_space(nets.fms(parts)).markings == markings


@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_philosophers_have_the_markings_counted_by_hand(count: int) -> None:
    expected = oracles.philosophers(count)
    for net in (nets.philosophers(count), nets.coloured_philosophers(count)):
        space = state_space(net)
        assert (space.markings, space.edges) == expected


@pytest.mark.parametrize(("readers", "writers"), [(1, 1), (5, 3), (10, 2)])
def test_readers_and_writers_read_in_any_number_or_one_writes(readers: int, writers: int) -> None:
    space = state_space(nets.readers_writers(readers, writers))
    assert space.markings == readers + 2
    assert space.bounds()["writing"] == (0, 1)


@pytest.mark.parametrize("stations", [2, 4, 6])
def test_token_ring_has_the_markings_counted_by_hand(stations: int) -> None:
    space = state_space(nets.token_ring(stations))
    assert (space.markings, space.edges) == oracles.token_ring(stations)


@pytest.mark.parametrize(("packets", "capacity"), [(1, 1), (2, 2), (4, 2), (3, 3)])
def test_simple_protocol_has_the_markings_counted_by_hand(packets: int, capacity: int) -> None:
    space = state_space(nets.simple_protocol(packets, capacity))
    assert space.markings == oracles.simple_protocol(packets, capacity)


@pytest.mark.parametrize("capacity", [1, 2, 4])
def test_alternating_bit_has_the_markings_counted_by_hand(capacity: int) -> None:
    space = state_space(nets.alternating_bit(capacity))
    assert space.markings == oracles.alternating_bit(capacity)
    assert len(space.live_transitions()) == len(space.net.transitions)


def test_philosophers_have_one_dead_marking_and_no_live_transition() -> None:
    space = state_space(nets.coloured_philosophers(5))
    (dead,) = space.dead_markings()
    assert space.marking(dead)["Wait"] == Multiset(range(5))
    assert space.home_markings() == [dead]
    assert space.live_transitions() == []
    assert space.dead_transitions() == []
    assert len(set(space.components())) == 2


def test_protocol_ends_with_all_packets_received() -> None:
    space = state_space(nets.simple_protocol(3, 2))
    ends = [space.marking(at) for at in space.dead_markings()]
    assert [end["NextSend"] for end in ends] == [Multiset([4])]
    assert [end["NextReceive"] for end in ends] == [Multiset([4])]
    assert space.bounds()["Packets"] == (0, 2)
    assert space.upper_multisets()["Packets"] == Multiset({1: 2, 2: 2, 3: 2})


@pytest.mark.parametrize(
    "net",
    [nets.coloured_philosophers(4), nets.simple_protocol(2, 2), nets.alternating_bit(2)],
    ids=lambda net: net.name,
)
def test_coloured_net_has_the_graph_of_its_unfolding(net: Net) -> None:
    ours, theirs = state_space(net), state_space(unfolded(net))
    assert (ours.markings, ours.edges) == (theirs.markings, theirs.edges)
    assert len(ours.dead_markings()) == len(theirs.dead_markings())
    assert sorted(map(len, _sizes(ours.components()))) == sorted(
        map(len, _sizes(theirs.components()))
    )


def _sizes(components: list[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for at, component in enumerate(components):
        groups.setdefault(component, []).append(at)
    return list(groups.values())


@pytest.mark.parametrize(
    "net",
    [
        nets.coloured_philosophers(4),
        nets.simple_protocol(3, 2),
        nets.alternating_bit(3),
        nets.kanban(1),
    ],
    ids=lambda net: net.name,
)
def test_every_firing_of_a_run_is_an_edge_of_the_state_space(net: Net) -> None:
    space = state_space(net)
    simulation = Simulation(compiled(checked(net), traced=True), seed=7)
    at = 0
    for _ in range(300):
        event = simulation.step()
        if event is None:
            assert at in space.dead_markings()
            break
        edges = {
            (name, tuple(sorted(binding.items()))): target
            for name, binding, target in space.leaving(at)
        }
        at = edges[event.transition, tuple(sorted(event.binding.items()))]
        assert space.marking(at) == simulation.markings()


def test_search_stops_at_the_limit_of_markings_and_reports_it() -> None:
    space = state_space(nets.kanban(2), Limits(markings_max=1_000))
    assert not space.complete
    assert "limit of 1000 markings" in space.stopped
    with pytest.raises(NetTooLarge, match="limit of 1000 markings"):
        space.bounds()


def test_search_stops_at_an_unbounded_place_and_names_it() -> None:
    net = Net("source")
    page = net.page("Main")
    page.place("pool")
    page.transition("make")
    page.arc("make", "pool")
    space = state_space(net, Limits(tokens_max=50))
    assert "place pool came to hold more than 50 tokens" in space.stopped


def test_search_stops_when_progress_returns_false() -> None:
    space = state_space(nets.kanban(3), progress=lambda found, expanded: False)
    assert "stopped" in space.stopped


def test_less_urgent_transition_waits_for_more_urgent_ones() -> None:
    net = Net("urgent")
    page = net.page("Main")
    page.place("a", initial=2)
    page.place("b")
    page.place("c")
    page.transition("slow", priority=200)
    page.transition("fast", priority=1)
    for name, target in (("slow", "c"), ("fast", "b")):
        page.arc("a", name)
        page.arc(name, target)
    space = state_space(net)
    assert space.markings == 3
    assert space.dead_transitions() == ["slow"]


def test_error_about_randomness_names_a_remedy() -> None:
    net = Net("dice")
    net.colour("Eyes", Int(1, 6))
    page = net.page("Main")
    page.place("thrown", "Eyes")
    page.transition("throw")
    page.arc("throw", "thrown", "discrete(1, 6)")
    with pytest.raises(NetInvalid, match=r"transition throw: discrete is random"):
        state_space(net)


def test_variable_that_nothing_binds_takes_every_value() -> None:
    net = Net("dice")
    net.colour("Eyes", Int(1, 6))
    net.variable("e", "Eyes")
    page = net.page("Main")
    page.place("hand", initial=1)
    page.place("thrown", "Eyes")
    page.transition("throw")
    page.arc("hand", "throw")
    page.arc("throw", "thrown", "e")
    assert state_space(net).markings == 7
