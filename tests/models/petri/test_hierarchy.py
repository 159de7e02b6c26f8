"""Pages: a hierarchical net behaves as its flat net, and a fusion set is one place."""

import pytest

from dovemq.models.petri import Int, Multiset, Net, NetInvalid, Simulation, state_space
from dovemq.models.petri.checking import checked


def _hierarchical(tokens: int) -> Net:
    """A ring of two equal stages, each a page with a hidden place."""
    net = Net("ring")
    top, stage = net.page("Top"), net.page("Stage")
    top.place("A", initial=tokens)
    top.place("B")
    top.substitution("First", "Stage", {"In": "A", "Out": "B"})
    top.substitution("Second", "Stage", {"In": "B", "Out": "A"})
    stage.place("In", port="in")
    stage.place("Out", port="out")
    stage.place("Room", initial=2)
    stage.place("Busy")
    stage.transition("Enter")
    stage.transition("Leave")
    for source, target in (
        ("In", "Enter"), ("Room", "Enter"), ("Enter", "Busy"),
        ("Busy", "Leave"), ("Leave", "Room"), ("Leave", "Out"),
    ):  # fmt: skip
        stage.arc(source, target)
    return net


def _flat(tokens: int) -> Net:
    net = Net("flat ring")
    page = net.page("Main")
    page.place("A", initial=tokens)
    page.place("B")
    for name, source, target in (("1", "A", "B"), ("2", "B", "A")):
        page.place(f"room{name}", initial=2)
        page.place(f"busy{name}")
        page.transition(f"enter{name}")
        page.transition(f"leave{name}")
        page.arc(source, f"enter{name}")
        page.arc(f"room{name}", f"enter{name}")
        page.arc(f"enter{name}", f"busy{name}")
        page.arc(f"busy{name}", f"leave{name}")
        page.arc(f"leave{name}", f"room{name}")
        page.arc(f"leave{name}", target)
    return net


@pytest.mark.parametrize("tokens", [1, 3, 6])
def test_hierarchical_net_has_the_state_space_of_the_flat_net(tokens: int) -> None:
    ours, theirs = state_space(_hierarchical(tokens)), state_space(_flat(tokens))
    assert (ours.markings, ours.edges) == (theirs.markings, theirs.edges)
    assert ours.live_transitions() == [
        "First.Enter", "First.Leave", "Second.Enter", "Second.Leave",
    ]  # fmt: skip
    assert sorted(ours.bounds().values()) == sorted(theirs.bounds().values())


def test_port_and_socket_are_one_place_under_each_of_their_names() -> None:
    net = checked(_hierarchical(4))
    assert len(net.places) == 6
    assert net.place("A") is net.place("First.In") is net.place("Second.Out")
    simulation = Simulation(net, seed=1)
    simulation.run(steps=50)
    assert simulation.marking("First.In") == simulation.marking("A")


def test_instances_of_a_page_hold_tokens_of_their_own() -> None:
    net = checked(_hierarchical(4))
    assert net.place("First.Room") is not net.place("Second.Room")
    assert net.place("Second.Room").initial == Multiset({(): 2})


def _fused(initial: str = "none") -> Net:
    net = Net("fused")
    net.colour("N", Int())
    net.variable("n", "N")
    top, left, right = net.page("Top"), net.page("Left"), net.page("Right")
    top.substitution("L", "Left", {})
    top.substitution("R", "Right", {})
    left.place("From", "N", initial="tokens(1, 2)")
    left.place("Shared", "N", fusion="shared", initial=initial)
    left.transition("Put")
    left.arc("From", "Put", "n")
    left.arc("Put", "Shared", "n")
    right.place("Common", "N", fusion="shared")
    right.place("To", "N")
    right.transition("Take")
    right.arc("Common", "Take", "n")
    right.arc("Take", "To", "n")
    return net


def test_places_of_a_fusion_set_are_one() -> None:
    simulation = Simulation(_fused("tokens(9)"), seed=3)
    simulation.run()
    assert simulation.marking("R.To") == Multiset([1, 2, 9])


def test_fused_places_of_different_colour_or_marking_are_refused() -> None:
    net = _fused("tokens(9)")
    net.pages["Right"].place("Other", "Unit", fusion="shared")
    with pytest.raises(NetInvalid, match="fusion set shared differ: N and Unit"):
        checked(net)
    net = _fused("tokens(9)")
    net.pages["Right"].place("Other", "N", fusion="shared", initial="tokens(8)")
    with pytest.raises(NetInvalid, match="different initial markings"):
        checked(net)


def test_hierarchy_that_grows_without_end_is_refused() -> None:
    net = Net("deep")
    for depth in range(20):
        page = net.page(f"P{depth}")
        if depth < 19:
            for copy in range(3):
                page.substitution(f"s{copy}", f"P{depth + 1}", {})
    with pytest.raises(NetInvalid, match="more than 10000 instances"):
        checked(net)
