"""Nets as JSON files: everything that `nets.py` can express, except Python functions.

    {"net": "counter", "time": "real",
     "colours": {"Number": {"int": [0, 10]}}, "variables": {"n": "Number"},
     "constants": {}, "functions": {},
     "pages": {"Main": {
        "places": {"Count": {"colour": "Number", "initial": "0"}},
        "transitions": {"Step": {"guard": "n < 10"}},
        "arcs": [["Count", "Step", "n"], ["Step", "Count", "n + 1"]]}}}

A page may also have inhibitor arcs with their weights and reset arcs, and a place a capacity:

    "inhibitors": [["Count", "Step", 3]], "resets": [["Count", "Step"]]

An unknown key is an error, so that a misspelt key is never ignored. Expressions stay text here;
`expressions.py` allows them to call only the functions of its own table and of the file.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from dovemq.models.petri import colours
from dovemq.models.petri.colours import Colour
from dovemq.models.petri.errors import NetInvalid, Where
from dovemq.models.petri.nets import Defined, Net, Node, Page, Place, Substitution, Transition

BYTES_MAX: Final = 20_000_000
_PLAIN: Final[Mapping[str, type[Colour]]] = {
    kind.__name__.lower(): kind
    for kind in (colours.Unit, colours.Int, colours.Bool, colours.String, colours.Real)
}
Form = TypeVar("Form")
_ArcForm = Annotated[list[str], Meta(min_length=2, max_length=4)]
_Weight = Annotated[int, Meta(ge=1)]


class _FunctionForm(Struct, forbid_unknown_fields=True):
    parameters: dict[str, str] = {}
    body: str = ""


class _ListForm(Struct, forbid_unknown_fields=True):
    of: Any
    length_max: Annotated[int, Meta(ge=0)] | None = None


class _PageForm(Struct, forbid_unknown_fields=True):
    places: dict[str, dict[str, Any]] = {}
    transitions: dict[str, dict[str, Any]] = {}
    substitutions: dict[str, dict[str, Any]] = {}
    arcs: list[_ArcForm] = []
    inhibitors: list[tuple[str, str, _Weight]] = []
    resets: list[tuple[str, str]] = []


class _NetForm(Struct, forbid_unknown_fields=True):
    net: Annotated[str, Meta(min_length=1)]
    time: Literal["real", "int"] = "real"
    root: str = ""
    colours: dict[str, Any] = {}
    variables: dict[str, str] = {}
    constants: dict[str, Any] = {}
    functions: dict[str, _FunctionForm] = {}
    pages: dict[str, Any] = {}


def read_net(text: str, source: str = "net file") -> Net:
    where = Where(source)
    if len(text) > BYTES_MAX:
        raise NetInvalid(where, f"more than {BYTES_MAX} characters")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NetInvalid(where, f"this is not JSON: {error}") from None
    form = _converted(found, _NetForm, where)
    net = Net(form.net, time=colours.Int(0) if form.time == "int" else None, root=form.root)
    for name, colour in form.colours.items():
        net.colour(name, _colour(colour, net, net.where.at(part=f"colour {name}")))
    for name, known in form.variables.items():
        net.variable(name, known)
    for name, value in form.constants.items():
        net.constant(name, value)
    for name, function in form.functions.items():
        net.function(name, function.parameters, function.body)
    for name, page in form.pages.items():
        _read_page(net.page(name), page)
    return net


def _converted(value: Any, form: type[Form], where: Where) -> Form:
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        fields: tuple[str, ...] = getattr(form, "__struct_fields__", ())
        names = ", ".join(name for name in fields if name != "name")
        known = f"; the known fields are {names}" if "unknown field" in str(error) else ""
        raise NetInvalid(where, f"{error}{known}") from None


def _read_page(page: Page, found: Any) -> None:
    form = _converted(found, _PageForm, page.where)
    for name, options in form.places.items():
        page.place(**_fields(options, Place, page.where.at(place=name), name))
    for name, options in form.transitions.items():
        page.transition(**_fields(options, Transition, page.where.at(transition=name), name))
    for name, options in form.substitutions.items():
        page.substitution(**_fields(options, Substitution, page.where.at(transition=name), name))
    for arc in form.arcs:
        source, target, expression, delay = (*arc, *("()", "0")[len(arc) - 2 :])
        page.arc(source, target, expression, delay=delay)
    for place, transition, weight in form.inhibitors:
        page.inhibitor(place, transition, weight)
    for place, transition in form.resets:
        page.reset(place, transition)


def _fields(options: dict[str, Any], node: type[Node], where: Where, name: str) -> dict[str, Any]:
    if "name" in options:
        raise NetInvalid(where, "the name is the key of the node and cannot be repeated inside it")
    return msgspec.structs.asdict(_converted({**options, "name": name}, node, where))


def _colour(form: Any, net: Net, where: Where) -> Colour:
    if isinstance(form, str):
        name, _, timed = form.partition(" ")
        known = net.colours.get(name) or (_PLAIN[name]() if name in _PLAIN else None)
        if known is None or timed not in ("", "timed"):
            raise NetInvalid(where, f"unknown colour {form!r}")
        return known.with_time() if timed else known
    parts = dict(_converted(form, dict[str, Any], where))
    has_time = _converted(parts.pop("timed", False), bool, where)
    if len(parts) != 1:
        raise NetInvalid(where, "a colour must have one kind, such as {'list': 'int'}")
    made = _compound(*next(iter(parts.items())), net, where)
    return made.with_time() if has_time else made


def _compound(kind: str, form: Any, net: Net, where: Where) -> Colour:
    if kind in _PLAIN and form in (True, []):
        return _PLAIN[kind]()
    if kind == "int":
        return colours.Int(*_converted(form, tuple[int | None, int | None], where))
    if kind == "enum":
        names = _converted(form, tuple[str, ...], where)
        if len(set(names)) == len(names):
            return colours.Enum(names=names)
    if kind == "product":
        parts = _converted(form, list[Any], where)
        return colours.Product(tuple(_colour(part, net, where) for part in parts))
    if kind == "record":
        fields = _converted(form, dict[str, Any], where).items()
        return colours.Record(tuple((name, _colour(part, net, where)) for name, part in fields))
    if kind == "list" and isinstance(form, dict) and "of" in form:
        bounded = _converted(form, _ListForm, where)
        return colours.List(_colour(bounded.of, net, where), bounded.length_max)
    if kind == "list":
        return colours.List(_colour(form, net, where))
    raise NetInvalid(where, f"{kind!r} of {form!r} is not a colour")


def write_net(net: Net) -> str:
    functions = {}
    for name, function in net.functions.items():
        if not isinstance(function, Defined):
            raise NetInvalid(net.where, f"{name} is a Python function, which no file can hold")
        functions[name] = {"parameters": dict(function.parameters), "body": function.body}
    form: dict[str, Any] = {
        "net": net.name,
        "time": "int" if isinstance(net.time, colours.Int) else "real",
        "root": net.root_page,
        "colours": {n: _colour_form(c) for n, c in net.colours.items() if n != "Unit"},
        "variables": net.variables,
        "constants": net.constants,
        "functions": functions,
        "pages": {name: _page_form(page) for name, page in net.pages.items()},
    }
    return json.dumps(form, indent=1, ensure_ascii=False) + "\n"


def _colour_form(colour: Colour) -> Any:
    form = _bare_form(colour)
    if not colour.timed:
        return form
    return f"{form} timed" if isinstance(form, str) else {**form, "timed": True}


def _bare_form(colour: Colour) -> Any:
    if isinstance(colour, colours.Int) and (colour.least is not None or colour.most is not None):
        return {"int": [colour.least, colour.most]}
    if isinstance(colour, colours.Enum):
        return {"enum": list(colour.names)}
    if isinstance(colour, colours.Product):
        return {"product": [_colour_form(part) for part in colour.parts]}
    if isinstance(colour, colours.Record):
        return {"record": {name: _colour_form(part) for name, part in colour.fields}}
    if isinstance(colour, colours.List):
        element = _colour_form(colour.element)
        if colour.length_max is None:
            return {"list": element}
        return {"list": {"of": element, "length_max": colour.length_max}}
    return type(colour).__name__.lower()


def _page_form(page: Page) -> dict[str, Any]:
    def forms(nodes: Mapping[str, Node]) -> dict[str, Any]:
        shown = {name: msgspec.to_builtins(node) for name, node in nodes.items()}
        return {
            name: {key: value for key, value in form.items() if key != "name"}
            for name, form in shown.items()
        }

    limits: dict[str, list[Any]] = {
        "inhibitors": [
            [*arc.ends, int(arc.expression)] for arc in page.arcs if arc.kind == "inhibitor"
        ],
        "resets": [list(arc.ends) for arc in page.arcs if arc.kind == "reset"],
    }
    return {
        "places": forms(page.places),
        "transitions": forms(page.transitions),
        "substitutions": forms(page.substitutions),
        "arcs": [
            [*arc.ends, arc.expression, *([arc.delay] if arc.delay != "0" else [])]
            for arc in page.arcs
            if arc.kind == "normal"
        ],
        **{name: arcs for name, arcs in limits.items() if arcs},
    }
