"""Invalid nets: every error names the net, page, transition and arc."""

import math
from collections.abc import Callable

import pytest

from dovemq.models.petri import (
    Enum,
    Int,
    List,
    Net,
    NetFailed,
    NetInvalid,
    Page,
    Real,
    Record,
    Simulation,
    Unit,
)
from dovemq.models.petri.checking import checked

Change = Callable[[Net, Page], object]


def _net(change: Change) -> Net:
    net = Net("shop")
    net.colour("Number", Int())
    net.colour("Small", Int(0, 5))
    net.colour("Later", Int(timed=True))
    net.colour("Numbers", List(Int()))
    net.variable("n k", "Number")
    net.variable("s", "Small")
    page = net.page("Desk")
    page.place("In", "Number", initial="tokens(1, 2)")
    page.place("Out", "Number")
    page.place("Soon", "Later")
    page.place("Few", "Small")
    page.transition("Serve")
    page.arc("In", "Serve", "n")
    change(net, page)
    return net


BAD: list[tuple[str, Change, str]] = [
    ("unknown colour of a place", lambda n, p: p.place("X", "Nope"), "unknown colour 'Nope'"),
    (
        "type error on an arc",
        lambda n, p: p.arc("Serve", "Out", "'text'"),
        "page Desk, transition Serve, arc Serve → Out ('text'): the place holds int",
    ),
    (
        "unknown name on an arc",
        lambda n, p: p.arc("Serve", "Out", "z"),
        "arc Serve → Out (z): unknown name 'z'",
    ),
    (
        "variable that nothing binds",
        lambda n, p: p.arc("Serve", "Out", "k"),
        "transition Serve: nothing binds the variable k",
    ),
    (
        "pattern that cannot be solved",
        lambda n, p: p.arc("Out", "Serve", "k * 2"),
        "cannot be solved for k",
    ),
    (
        "guard that is no condition",
        lambda n, p: p.transition("Bad", guard="1"),
        "transition Bad, guard: a guard must be bool",
    ),
    (
        "chance in a guard",
        lambda n, p: p.transition("Bad", guard="bernoulli(0.5)"),
        "guard: bernoulli is random",
    ),
    (
        "delay on a place without time",
        lambda n, p: p.arc("Serve", "Out", "n", delay="3"),
        "the place is not timed",
    ),
    (
        "negative delay",
        lambda n, p: p.arc("Serve", "Soon", "n", delay="-1"),
        "a delay must be at least 0",
    ),
    (
        "delay that is no number",
        lambda n, p: p.arc("Serve", "Soon", "n", delay="'a'"),
        "delay of the arc: a delay must be real",
    ),
    (
        "value that never fits",
        lambda n, p: p.arc("Serve", "Few", "9"),
        "the place holds int 0..5, but this is int 9",
    ),
    (
        "initial marking of another colour",
        lambda n, p: p.place("X", "Small", initial="tokens(1, 7)"),
        "place X, initial marking: the place holds int 0..5",
    ),
    (
        "more tokens than can be held",
        lambda n, p: p.place("X", "Small", initial="times(1000000000, 3)"),
        "more than 1000000 tokens",
    ),
    (
        "negative count of tokens",
        lambda n, p: p.place("X", "Small", initial="times(2 - len([1, 2, 3]), 3)"),
        "a negative count of tokens",
    ),
    (
        "code segment that binds no variable",
        lambda n, p: p.transition("Bad", code={"z": "1"}),
        "transition Bad, code segment: 'z' is not a variable",
    ),
    (
        "constant that is not a number",
        lambda n, p: n.constant("rate", math.nan),
        "constant rate: nan is not a value",
    ),
    (
        "function that calls itself",
        lambda n, p: n.function("f", {"x": "Number"}, "f(x)"),
        "function f: no function 'f' is declared",
    ),
    (
        "function of an unknown colour",
        lambda n, p: n.function("f", {"x": "Nope"}, "x"),
        "function f: unknown colour 'Nope'",
    ),
    (
        "page that is not there",
        lambda n, p: p.substitution("Sub", "Nowhere", {}),
        "transition Sub: no page is named 'Nowhere'",
    ),
    (
        "cyclic hierarchy",
        lambda n, p: p.substitution("Sub", "Desk", {}),
        "the hierarchy is cyclic: Desk → Desk",
    ),
]


@pytest.mark.parametrize(("change", "text"), [pytest.param(c, t, id=i) for i, c, t in BAD])
def test_error_of_an_invalid_net_names_the_part(change: Change, text: str) -> None:
    with pytest.raises(NetInvalid) as error:
        checked(_net(change))
    assert str(error.value).startswith("net shop")
    assert text in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda n, p: p.arc("In", "Out"),
        lambda n, p: p.arc("Serve", "Nowhere"),
        lambda n, p: p.place("In"),
        lambda n, p: p.place("with space"),
        lambda n, p: n.variable("n", "Number"),
        lambda n, p: n.variable("x", "Nope"),
        lambda n, p: n.constant("exponential", 1),
        lambda n, p: n.page("Desk"),
        lambda n, p: n.with_constants(nope=1),
        lambda n, p: n.colour("R", Record(fields=(("__class__", Int()),))),
        lambda n, p: n.colour("R", List(Record(fields=(("a", Int()), ("a", Int()))))),
        lambda n, p: n.colour("E", Enum()),
        lambda n, p: n.colour("I", Int(3, 2)),
    ],
)
def test_invalid_declaration_is_refused_at_once(change: Change) -> None:
    with pytest.raises(NetInvalid, match="net shop"):
        _net(change)


def _below(change: Callable[[Net, Page, Page], object]) -> Net:
    net = Net("tree")
    net.colour("Number", Int())
    top, inner = net.page("Top"), net.page("Inner")
    top.place("A")
    top.place("B", "Number")
    inner.place("In", port="in")
    inner.place("Out", port="out")
    inner.transition("Go")
    inner.arc("In", "Go")
    inner.arc("Go", "Out")
    change(net, top, inner)
    return net


@pytest.mark.parametrize(
    ("sockets", "text"),
    [
        ({"In": "A"}, "port Out of page Inner has no socket"),
        ({"In": "A", "Out": "B"}, "socket B and port Out differ: Number and Unit"),
        ({"In": "A", "Out": "C"}, "socket 'C' of port Out is not a place"),
        ({"In": "A", "Out": "A", "Up": "A"}, "page Inner has no port 'Up'"),
    ],
)
def test_port_without_its_socket_is_named(sockets: dict[str, str], text: str) -> None:
    net = _below(lambda n, top, inner: top.substitution("Sub", "Inner", sockets))
    with pytest.raises(NetInvalid, match="net tree, page Top") as error:
        checked(net)
    assert text in str(error.value)


def test_arc_against_a_port_is_refused() -> None:
    def change(net: Net, top: Page, inner: Page) -> None:
        inner.arc("Go", "In")
        top.substitution("Sub", "Inner", {"In": "A", "Out": "A"})

    with pytest.raises(NetInvalid, match="In is an in port"):
        checked(_below(change))


def _running(expression: str, colour: str = "Small", delay: str = "0") -> Simulation:
    def change(net: Net, page: Page) -> None:
        page.place("End", colour)
        page.arc("Serve", "End", expression, delay=delay)

    return Simulation(_net(change), seed=1)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("n + 9", "ValueError: End holds int 0..5, not 1"),
        ("n // (n - n)", "ZeroDivisionError"),
        ("times(n - 3, 1)", "a negative count of tokens"),
        ("[n][n + 1]", "IndexError"),
    ],
)
def test_failure_of_a_run_names_the_arc(expression: str, text: str) -> None:
    with pytest.raises(NetFailed) as error:
        _running(expression).run(steps=2)
    assert "page Desk, transition Serve, arc Serve → End" in str(error.value)
    assert text in str(error.value)


@pytest.mark.parametrize("delay", ["0.0 - n", "1e300 * 1e300 * n", "1e300 * 1e300 * 0.0"])
def test_failure_of_a_delay_names_the_arc(delay: str) -> None:
    with pytest.raises(NetFailed, match=r"arc Serve → End \(n\).*a delay of"):
        _running("n", "Later", delay=delay).run(steps=2)


def test_run_fails_if_time_never_advances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovemq.models.petri.simulation.STEPS_AT_ONE_TIME_MAX", 1_000)
    monkeypatch.setattr("dovemq.models.petri.simulation.CHUNK", 100)
    net = Net("busy")
    page = net.page("Main")
    page.place("a", initial=1)
    page.transition("t")
    page.flow("a", "t", "()", "()")
    with pytest.raises(NetFailed, match="time does not advance"):
        Simulation(net).run()


def test_result_of_a_python_function_is_checked_at_run_time() -> None:
    net = Net("foreign")
    net.colour("Small", Int(0, 5))
    net.foreign("seven", lambda: 7)
    page = net.page("Main")
    page.place("p", "Small")
    page.transition("t")
    page.arc("t", "p", "seven()")
    with pytest.raises(NetFailed, match=r"p holds int 0\.\.5, not 7"):
        Simulation(net).run(steps=1)


def test_delay_must_have_the_colour_of_the_clock() -> None:
    net = Net("whole", time=Int(0))
    net.colour("T", Unit(timed=True))
    net.colour("R", Real())
    page = net.page("Main")
    page.place("p", "T", initial="()")
    page.transition("t")
    page.flow("p", "t", "()", "()", delay="0.5")
    with pytest.raises(NetInvalid, match="a delay must be int"):
        checked(net)


def test_plain_tokens_may_be_many() -> None:
    net = Net("many")
    page = net.page("Main")
    page.place("a", initial=2_000_000_000)
    page.transition("t")
    page.arc("a", "t")
    simulation = Simulation(net)
    simulation.run(steps=5)
    assert simulation.marking("a").size == 1_999_999_995
