"""PNML of other tools: what is read, what is skipped and what is refused by name."""

import pytest

from bench import nets
from dovemq.models.petri import Net, NetInvalid, read_pnml, state_space, write_pnml


def _net(*nodes: str) -> str:
    return f'<net id="n">{"".join(nodes)}</net>'


PLACES = (
    '<place id="a"><initialMarking><text>3</text></initialMarking></place><place id="b"/>'
    '<transition id="t"/>'
)
THERE = '<arc id="1" source="a" target="t"/><arc id="2" source="t" target="b"/>'


def test_content_of_other_tools_is_skipped() -> None:
    tool = (
        '<toolspecific tool="x" version="1"><text>99</text><name><text>wrong</text></name>'
        '<place id="z"/><transition id="y"/><arc id="w" source="a" target="y"/>'
        '<net id="m"/><capacity><text>1</text></capacity></toolspecific>'
    )
    text = (
        f'<pnml>{tool}<net id="n">{tool}<name>{tool}<text>mine</text></name><page id="g">{tool}'
        f'<place id="a">{tool}<name>{tool}<text>right</text></name>'
        f"<initialMarking>{tool}<text>3</text></initialMarking></place>"
        f'<transition id="t">{tool}</transition>'
        f'<arc id="1" source="a" target="t">{tool}<inscription>{tool}<text>2</text></inscription>'
        "</arc></page></net></pnml>"
    )
    net = read_pnml(text)
    (page,) = net.pages.values()
    assert net.name == "mine"
    assert (list(page.places), list(page.transitions)) == (["right"], ["t"])
    assert [str(arc) for arc in page.arcs] == ["right → t (times(2, ()))"]
    assert state_space(net).markings == 2


def _two() -> str:
    first = '<net id="one"><name><text>First</text></name><place id="a"/></net>'
    return f'<pnml>{first}<net id="two"><place id="b"/><place id="c"/></net></pnml>'


@pytest.mark.parametrize(("wanted", "places"), [("one", 1), ("First", 1), ("two", 2)])
def test_one_of_several_nets_is_read_by_its_id_or_name(wanted: str, places: int) -> None:
    (page,) = read_pnml(_two(), net=wanted).pages.values()
    assert len(page.places) == places


def test_several_nets_without_a_choice_are_refused_with_their_names() -> None:
    with pytest.raises(NetInvalid, match="holds 2 nets, name one: one, two"):
        read_pnml(_two())
    with pytest.raises(NetInvalid, match="holds 0 nets named 'three'"):
        read_pnml(_two(), net="three")


def test_read_arc_needs_tokens_and_keeps_them() -> None:
    inner = "".join((PLACES, THERE, '<arc id="3" source="a" target="t" type="test">'))
    text = _net(inner, "<inscription><text>2</text></inscription></arc>")
    space = state_space(read_pnml(text))
    assert space.markings == 2  # Taking one needs three: one to take and two to keep.


def test_capacity_of_0_is_no_limit() -> None:
    limit = "<capacity><value>0</value></capacity>"
    text = _net(PLACES.replace('<place id="b"/>', f'<place id="b">{limit}</place>'), THERE)
    assert state_space(read_pnml(text)).markings == 4


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ('<arc id="3" source="a" target="t" type="transport"/>', "type 'transport' is not"),
        ('<arc id="3" source="t" target="a" type="inhibitor"/>', "must lead from a place"),
        (
            '<arc id="3" source="a" target="t" type="reset"><type value="inhibitor"/></arc>',
            "several types",
        ),
        (
            '<arc id="3" source="a" target="t"><inscription><text>0</text></inscription></arc>',
            "arc 3: an arc must have a weight of at least 1",
        ),
        ('<arc id="3" source="a" target="t" weight="2"/>', "attribute 'weight' of the arc"),
        ('<place id="c" initialMarking="1"/>', "attribute 'initialMarking' of the place"),
        ('<place id="c"><invariant><text>1</text></invariant></place>', "label 'invariant'"),
        ('<place id="c"><initialMarking><text>D,1,R,2</text></initialMarking></place>', "a count"),
        (
            '<place id="c"><initialMarking><text>D,1</text></initialMarking></place>'
            '<place id="d"><initialMarking><text>R,1</text></initialMarking></place>',
            r"tokens of several kinds \(D, R\)",
        ),
        ('<transition id="u"><guard><text>1</text></guard></transition>', "label 'guard'"),
        (
            '<transition id="u"><priority><value>2</value></priority></transition>',
            "differ in their 'priority'",
        ),
        ('<inhibitorArc id="3"/>', "element 'inhibitorArc' is not supported"),
    ],
)
def test_part_that_changes_the_behaviour_is_refused_by_name(more: str, problem: str) -> None:
    with pytest.raises(NetInvalid, match=problem):
        read_pnml(_net(PLACES, THERE, more))


def test_net_with_priorities_is_not_written() -> None:
    net: Net = nets.kanban(1)
    (page,) = net.pages.values()
    page.transition("urgent", priority=1)
    with pytest.raises(NetInvalid, match="no priorities"):
        write_pnml(net)
