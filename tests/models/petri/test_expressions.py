"""Expressions: what is allowed, which colour it has, and what no file can express."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.models.petri import (
    Bool,
    Enum,
    Int,
    List,
    NetInvalid,
    Product,
    Real,
    String,
    Unit,
    netfiles,
)
from dovemq.models.petri.checking import checked
from dovemq.models.petri.colours import Colour, ColourFit, Nothing, Record, fits, joined
from dovemq.models.petri.errors import ExpressionInvalid
from dovemq.models.petri.expressions import conjuncts, names_in, parse
from dovemq.models.petri.inference import Scope, infer

MESSAGE = Record(fields=(("id", Int()), ("tag", Enum(names=("a", "b")))))
SCOPE = Scope(
    {"n": Int(), "ok": Bool(), "m": MESSAGE, "q": List(MESSAGE), "p": Product((Int(), Bool()))},
    {"k": Int(3, 3)},
    {"Msg": MESSAGE},
    clock=Real(),
)

NEVER_ALLOWED = [
    "__import__('os').system('true')",
    "m.__class__",
    "(lambda: 1)()",
    "[x for x in ().__class__.__mro__]",
    "n.bit_length()",
    "open('f')",
    "eval('1')",
    "getattr(m, 'id')",
    "f'{n}'",
    "(n := 1)",
    "n ** 99",
    "1 << 99",
    "{1: 2}",
    "{1, 2}",
    "await n",
    "yield n",
    "None",
    "b'x'",
    "1j",
    "...",
    "len(*q)",
    "replace(m, **p)",
    "_n",
    "print(n)",
    "globals()",
]


@pytest.mark.parametrize("text", NEVER_ALLOWED)
def test_no_expression_reaches_outside_the_net(text: str) -> None:
    with pytest.raises(ExpressionInvalid):
        infer(parse(text), SCOPE)


@pytest.mark.parametrize(
    ("text", "colour"),
    [
        ("n + 1", Int()),
        ("2 * 3", Int(6, 6)),
        ("n / 2", Real()),
        ("n % 5", Int(0, 4)),
        ("n < k and ok", Bool()),
        ("m.id", Int()),
        ("p[1]", Bool()),
        ("[m, *q]", List(MESSAGE)),
        ("q[1:]", List(MESSAGE)),
        ("[x.id for x in q if x.tag == 'a']", List(Int())),
        ("any(x.id == n for x in q)", Bool()),
        ("len(q)", Int(0)),
        ("(n, 'a')", Product((Int(), Enum(names=("a",))))),
        ("()", Unit()),
        ("'a' if ok else 'b'", Enum(names=("a", "b"))),
        ("replace(m, id=n)", MESSAGE),
        ("max(n, 3)", Int()),
        ("round(now)", Int()),
    ],
)
def test_expression_has_the_colour_of_its_parts(text: str, colour: Colour) -> None:
    assert infer(parse(text), SCOPE).colour == colour


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", "unknown name 'x'"),
        ("n + ok", "must be real, but this is bool"),
        ("n and ok", "must be bool, but this is int"),
        ("m.size", "no field 'size'"),
        ("n.id", "n is int, not a record"),
        ("p[2]", "has no part 2"),
        ("n == 'a'", "can never be equal"),
        ("m < m", "has no order"),
        ("[n, ok]", "a list cannot hold both"),
        ("Msg(id=n)", "lacks tag"),
        ("Msg(id=n, tag='z')", "field tag must be enum"),
        ("n if ok else q", "one branch is int"),
        ("len(n)", "len takes one list"),
        ("exponential(1.0)", "is random"),
        ("tokens(n)", "multiset"),
        ("size('p')", "only monitors"),
        ("3 in ok", "a list is expected"),
        ("1 +", "is not an expression"),
        ("", "is not an expression"),
    ],
)
def test_error_of_an_invalid_expression_names_the_problem(text: str, problem: str) -> None:
    with pytest.raises(ExpressionInvalid) as error:
        infer(parse(text), SCOPE)
    assert problem in str(error.value)


def test_names_that_a_comprehension_binds_are_not_free() -> None:
    assert names_in(parse("[x for x in q if x.id < n]")) == {"q", "n"}


def test_guard_is_split_at_and() -> None:
    parts = conjuncts(parse("ok and n < 3 and (ok or n == 1)"))
    assert [ast.unparse(part) for part in parts] == ["ok", "n < 3", "ok or n == 1"]


@settings(max_examples=300)
@given(st.text(alphabet="abn()[]{}.,'\"+-*/%<>=!:; \n_0123456789mqokifelsr@\\#", max_size=40))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        found = infer(parse(text), SCOPE)
    except ExpressionInvalid:
        return
    tree = ast.Expression(ast.fix_missing_locations(found.node))
    assert compile(tree, "<text>", "eval").co_filename == "<text>"


@given(st.text(max_size=2_000))
def test_any_file_is_a_net_or_refused(text: str) -> None:
    with pytest.raises(NetInvalid):
        checked(netfiles.read_net(text))


def test_deep_and_long_expressions_are_refused() -> None:
    for text in ("+".join("1" * 1_900), "-" * 90 + "1", "9" * 50):
        with pytest.raises(ExpressionInvalid):
            parse(text)


COLOURS = [
    Unit(), Int(), Int(0, 3), Int(2, 9), Int(7, 8), Bool(), String(), Real(),
    Enum(names=("a", "b")), Enum(names=("b",)), Product((Int(), Bool())),
    Product((Int(0, 3), Bool())), MESSAGE, List(Int()), List(Int(0, 3)), Nothing(),
]  # fmt: skip


@pytest.mark.parametrize("one", COLOURS, ids=str)
@pytest.mark.parametrize("other", COLOURS, ids=str)
def test_fit_agrees_with_membership(one: Colour, other: Colour) -> None:
    values = one.values()
    if values is None or isinstance(one, Unit):  # An empty list looks like the unit, inside.
        return _check_joined(one, other)
    inside = [other.admits(value) for value in values]
    fit = fits(one, other)
    if fit is ColourFit.YES:
        assert all(inside)
    elif fit is ColourFit.NO:
        assert not any(inside)
    _check_joined(one, other)


def _check_joined(one: Colour, other: Colour) -> None:
    both = joined(one, other)
    if both is not None:
        assert ColourFit.NO not in (fits(one, both), fits(other, both))


def test_finite_colour_set_lists_its_values() -> None:
    made = MESSAGE.maker(1, "a")
    assert made.id == 1
    assert MESSAGE.admits(made)
    assert Product((Int(0, 1), Bool())).values() == ((0, False), (0, True), (1, False), (1, True))
    assert List(Bool(), 2).values() == (
        (), (False,), (True,), (False, False), (False, True), (True, False), (True, True),
    )  # fmt: skip
