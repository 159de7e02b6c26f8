"""Symmetric nets of PNML: sorts, broadcasts, successors, conditions, and what is refused."""

import pytest

from dovemq.models.petri import NetInvalid, read_pnml, state_space, unfolded
from tests.models.petri import oracles

KIND = "http://www.pnml.org/version-2009/grammar/symmetricnet"


def _label(tag: str, term: str) -> str:
    return f"<{tag}><text>for people</text><structure>{term}</structure></{tag}>"


def _sort(name: str) -> str:
    return f'<usersort declaration="{name}"/>'


def _all(name: str) -> str:
    return f"<all>{_sort(name)}</all>"


def _operator(name: str, *terms: str) -> str:
    return f"<{name}>{''.join(f'<subterm>{each}</subterm>' for each in terms)}</{name}>"


X, Y = '<variable refvariable="x"/>', '<variable refvariable="y"/>'
ONE = '<numberconstant value="1"><positive/></numberconstant>'


def _place(name: str, sort: str, initial: str = "") -> str:
    held = _label("hlinitialMarking", initial) if initial else ""
    return f'<place id="{name}">{_label("type", _sort(sort))}{held}</place>'


def _arc(source: str, target: str, term: str) -> str:
    inner = _label("hlinscription", term)
    return f'<arc id="{source}{target}" source="{source}" target="{target}">{inner}</arc>'


def _net(count: int, nodes: str, more: str = "") -> str:
    elements = "".join(f'<feconstant id="c{at}" name="{at}"/>' for at in range(count))
    declared = (
        f'<namedsort id="pair" name="Pair"><productsort>{_sort("ring")}{_sort("ring")}'
        "</productsort></namedsort>"
        f'<namedsort id="ring" name="Ring"><cyclicenumeration>{elements}</cyclicenumeration>'
        '</namedsort><namedsort id="dot" name="dot"><dot/></namedsort>'
        f'<variabledecl id="x" name="x">{_sort("ring")}</variabledecl>'
        f'<variabledecl id="y" name="y">{_sort("ring")}</variabledecl>{more}'
    )
    structure = f"<structure><declarations>{declared}</declarations></structure>"
    return (
        f'<pnml><net id="n" type="{KIND}"><declaration>{structure}</declaration>'
        f'<page id="g">{nodes}</page></net></pnml>'
    )


@pytest.mark.parametrize("count", [2, 4, 6])
def test_philosophers_have_the_markings_counted_by_hand(count: int) -> None:
    one = _operator("numberof", ONE, X)
    following = _operator("numberof", ONE, _operator("successor", X))
    nodes = "".join((
        _place("think", "ring", _all("ring")), _place("fork", "ring", _all("ring")),
        _place("wait", "ring"), _place("eat", "ring"),
        '<transition id="left"/><transition id="right"/><transition id="stop"/>',
        _arc("think", "left", one), _arc("fork", "left", one), _arc("left", "wait", one),
        _arc("wait", "right", one), _arc("fork", "right", following), _arc("right", "eat", one),
        _arc("eat", "stop", one), _arc("stop", "think", one),
        _arc("stop", "fork", _operator("add", one, following)),
    ))  # fmt: skip
    net = read_pnml(_net(count, nodes))
    space = state_space(net)
    assert (space.markings, space.edges) == oracles.philosophers(count)
    assert state_space(unfolded(net)).markings == space.markings


def test_broadcast_stands_for_every_tuple_and_a_condition_chooses_among_them() -> None:
    pairs = _operator("tuple", _all("ring"), _all("ring"))
    test = _operator("and", _operator("inequality", X, Y), _operator("lessthan", X, Y))
    nodes = "".join((
        _place("pairs", "pair", pairs), _place("done", "dot", "<dotconstant/>"),
        f'<transition id="t">{_label("condition", test)}</transition>',
        _arc("pairs", "t", _operator("tuple", X, Y)), _arc("t", "done", "<dotconstant/>"),
    ))  # fmt: skip
    space = state_space(read_pnml(_net(3, nodes)))
    assert space.markings == 2**3  # The pairs with x < y are (0, 1), (0, 2) and (1, 2).
    assert space.bounds() == {"pairs": (6, 9), "done": (1, 4)}


@pytest.mark.parametrize(
    ("nodes", "more", "problem"),
    [
        ("", '<partition id="p"/>', "the declaration 'partition' is not supported"),
        ("", '<namedsort id="s" name="S"><string/></namedsort>', "sort 'string' is not supported"),
        (_place("a", "none"), "", "place a: the sort 'none' is not supported or not declared"),
        (_place("a", "ring", "<scalarproduct/>"), "", "operator 'scalarproduct' is not supported"),
        (_place("a", "ring", '<useroperator declaration="z"/>'), "", "'z' is not declared"),
        (_place("a", "ring", "<numberof/>"), "", "a declaration or term is incomplete"),
        (
            "",
            '<namedsort id="s" name="S"><finiteintrange start="0" end="1000000"/></namedsort>',
            "a sort of 1000001 values has more than 100000",
        ),
        ('<place id="a"><initialMarking/></place>', "", "label 'initialMarking' of the place"),
        (
            f'<transition id="t">{_label("condition", "<contains/>")}</transition>',
            "",
            "transition t: the operator 'contains' is not supported in a condition",
        ),
    ],
)
def test_part_that_is_not_read_is_refused_by_name(nodes: str, more: str, problem: str) -> None:
    with pytest.raises(NetInvalid, match=problem):
        read_pnml(_net(2, nodes, more))
