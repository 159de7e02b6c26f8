"""State spaces of large nets: many places, many tokens, many multisets, wide weights."""

import pytest

from bench import nets
from dovemq.models.petri import (
    Int,
    Limits,
    Net,
    NetTooLarge,
    state_space,
)


def _ring(places: int, tokens: int) -> Net:
    net = Net("ring")
    page = net.page("Main")
    for number in range(places):
        page.place(f"p{number}", initial=tokens if number == 0 else 0)
    for number in range(places):
        page.transition(f"t{number}")
        page.arc(f"p{number}", f"t{number}", weight=1)
        page.arc(f"t{number}", f"p{(number + 1) % places}", weight=1)
    return net


@pytest.mark.parametrize("places", [1_200, 5_000])
def test_net_of_thousands_of_places_is_explored(places: int) -> None:
    space = state_space(_ring(places, 1))
    assert (space.markings, space.edges) == (places, places)
    assert len(space.live_transitions()) == places
    assert set(space.bounds().values()) == {(0, 1)}


@pytest.mark.parametrize("places", [3, 70])
def test_two_tokens_of_a_ring_have_every_pair_of_places(places: int) -> None:
    space = state_space(_ring(places, 2))
    assert space.markings == places * (places + 1) // 2
    assert sum(held.size for held in space.marking(space.markings - 1).values()) == 2


@pytest.mark.parametrize(("count", "others"), [(300, 0), (40_000, 1), (300, 60)])
def test_field_of_a_place_grows_with_its_tokens(count: int, others: int) -> None:
    net = Net("growing")
    page = net.page("Main")
    for number in range(others):
        page.place(f"other{number}", initial=1)
    page.place("left", initial=1)
    page.place("pool", capacity=count)
    page.place("right", initial=1)
    page.transition("make")
    page.arc("make", "pool")
    space = state_space(net, Limits(tokens_max=50_000))
    assert (space.markings, space.edges) == (count + 1, count)
    assert space.bounds()["pool"] == (0, count)
    assert (space.bounds()["left"], space.bounds()["right"]) == ((1, 1), (1, 1))


def test_many_places_grow_at_a_time() -> None:
    net = Net("many")
    page = net.page("Main")
    page.transition("make")
    for number in range(30):
        page.place(f"p{number}", capacity=200)
        page.arc("make", f"p{number}")
    space = state_space(net)
    assert space.markings == 201
    assert set(space.bounds().values()) == {(0, 200)}


def test_place_of_many_multisets_is_explored() -> None:
    net = Net("counter")
    net.colour("Number", Int())
    net.variable("n", "Number")
    page = net.page("Main")
    page.place("Count", "Number", initial="0")
    page.place("Other", initial=1)
    page.transition("Step", guard="n < 40000")
    page.flow("Count", "Step", "n", "n + 1")
    space = state_space(net)
    assert space.markings == 40_001
    (last,) = space.dead_markings()
    assert list(space.marking(last)["Count"]) == [40_000]
    assert space.bounds() == {"Count": (1, 1), "Other": (1, 1)}


def test_weight_beyond_the_limit_of_tokens_names_the_place() -> None:
    net = Net("heavy")
    page = net.page("Main")
    page.place("start", initial=1)
    page.place("pool")
    page.place("next")
    page.transition("make")
    page.arc("start", "make")
    page.arc("make", "pool", weight=2**24)
    assert "place pool came to hold more than 10000 tokens" in state_space(net).stopped


def test_initial_tokens_beyond_the_limit_are_counted() -> None:
    net = Net("full")
    page = net.page("Main")
    page.place("pool", initial=2**24)
    page.place("next")
    page.transition("drain")
    page.arc("pool", "drain", weight=2**23)
    page.arc("drain", "next")
    space = state_space(net)
    assert space.markings == 3
    assert space.bounds() == {"pool": (0, 2**24), "next": (0, 2)}
    page.place("more", initial=2**70)
    with pytest.raises(NetTooLarge, match="place more: a marking holds at most"):
        state_space(net)


def test_markings_do_not_depend_on_the_form_in_which_they_are_stored() -> None:
    """17 philosophers need 51 bytes, more than the integers that smaller nets use."""
    for count in (6, 17):
        net = nets.philosophers(count)
        space = state_space(net, Limits(markings_max=3_000))
        first = space.marking(0)
        assert {name: held.size for name, held in first.items() if held.size} == {
            place.name: place.initial.size for place in space.net.places if place.initial.size
        }
        for at in range(min(space.markings, 200)):
            total = sum(held.size for held in space.marking(at).values())
            assert count <= total <= 2 * count
