"""Nets as JSON files: everything that `nets.py` can say, but for functions of Python.

    {"net": "counter", "time": "real",
     "colours": {"Number": {"int": [0, 10]}}, "variables": {"n": "Number"},
     "constants": {}, "functions": {},
     "pages": {"Main": {
        "places": {"Count": {"colour": "Number", "initial": "0"}},
        "transitions": {"Step": {"guard": "n < 10"}},
        "arcs": [["Count", "Step", "n"], ["Step", "Count", "n + 1"]]}}}

Owns the form and its errors. Refuses what it does not know: an unknown key is an error, so that a
misspelt one is never passed over. Expressions are read by `expressions.py`, which lets nothing be
called but the functions of its table and of the file.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from dovemq.models.petri.colours import (
    Bool,
    Colour,
    Enum,
    Int,
    List,
    Product,
    Real,
    Record,
    String,
    Unit,
)
from dovemq.models.petri.errors import NetInvalid, Where
from dovemq.models.petri.nets import PRIORITY_NORMAL, Defined, Net, Page, Place, Transition

BYTES_MAX: Final = 20_000_000
_TOP: Final = frozenset(
    ("net", "time", "root", "colours", "variables", "constants", "functions", "pages")
)
_PAGE: Final = frozenset(("places", "transitions", "substitutions", "arcs"))
_PLACE: Final = frozenset(("colour", "initial", "at", "port", "fusion", "position"))
_TRANSITION: Final = frozenset(("guard", "priority", "delay", "code", "position"))
_SUBSTITUTION: Final = frozenset(("page", "sockets", "position"))
_PLAIN: Final[Mapping[str, type[Colour]]] = {
    "unit": Unit,
    "int": Int,
    "bool": Bool,
    "string": String,
    "real": Real,
}


def read_net(text: str, source: str = "net file") -> Net:
    where = Where(source)
    if len(text) > BYTES_MAX:
        raise NetInvalid(where, f"more than {BYTES_MAX} characters")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NetInvalid(where, f"this is not JSON: {error}") from None
    return _Reader(where).net(found)


class _Reader:
    def __init__(self, where: Where) -> None:
        self._where = where

    def net(self, found: Any) -> Net:
        top = self._object(found, "the file", _TOP)
        name = self._text(top.get("net", ""), "net")
        if not name:
            raise NetInvalid(self._where, 'the file must say its name: {"net": …}')
        self._where = Where(name)
        times = {"real": None, "int": Int(0)}
        time = top.get("time", "real")
        if time not in times:
            raise NetInvalid(self._where, f"time is real or int, not {time!r}")
        net = Net(name, time=times[time], root=self._text(top.get("root", ""), "root"))
        for each, form in self._object(top.get("colours", {}), "colours").items():
            net.colour(each, self._colour(form, net, f"colour {each}"))
        for each, colour in self._object(top.get("variables", {}), "variables").items():
            net.variable(each, self._text(colour, f"variable {each}"))
        for each, value in self._object(top.get("constants", {}), "constants").items():
            net.constant(each, value)
        for each, form in self._object(top.get("functions", {}), "functions").items():
            self._function(net, each, form)
        for each, form in self._object(top.get("pages", {}), "pages").items():
            self._page(net.page(each), form)
        return net

    def _function(self, net: Net, name: str, form: Any) -> None:
        what = f"function {name}"
        parts = self._object(form, what, frozenset(("parameters", "body")))
        parameters = self._object(parts.get("parameters", {}), what)
        texts = {each: self._text(colour, what) for each, colour in parameters.items()}
        net.function(name, texts, self._text(parts.get("body", ""), what))

    def _colour(self, form: Any, net: Net, what: str) -> Colour:
        if isinstance(form, str):
            name, _, timed = form.partition(" ")
            known = net.colours.get(name) or (_PLAIN[name]() if name in _PLAIN else None)
            if known is None or timed not in ("", "timed"):
                raise NetInvalid(self._where, f"{what}: unknown colour {form!r}")
            return known.with_time() if timed else known
        parts = dict(self._object(form, what))
        timed = parts.pop("timed", False)
        if len(parts) != 1 or not isinstance(timed, bool):
            raise NetInvalid(self._where, f"{what}: a colour has one kind, as {{'list': 'int'}}")
        made = self._compound(*next(iter(parts.items())), net, what)
        return made.with_time() if timed else made

    def _compound(self, kind: str, form: Any, net: Net, what: str) -> Colour:
        if kind in _PLAIN and form in (True, []):
            return _PLAIN[kind]()
        ends = form if kind == "int" and isinstance(form, list) else []
        if len(ends) == 2 and all(end is None or type(end) is int for end in ends):
            return Int(*ends)
        if kind == "enum" and isinstance(form, list) and form:
            names = tuple(self._text(name, what) for name in form)
            if len(set(names)) == len(names):
                return Enum(names=names)
        if kind == "product" and isinstance(form, list) and form:
            return Product(tuple(self._colour(part, net, what) for part in form))
        if kind == "record" and isinstance(form, dict) and form:
            parts = ((name, self._colour(part, net, what)) for name, part in form.items())
            return Record(tuple(parts))
        if kind == "list":
            return self._list(form, net, what)
        raise NetInvalid(self._where, f"{what}: {kind!r} of {form!r} is no colour")

    def _list(self, form: Any, net: Net, what: str) -> Colour:
        if not isinstance(form, dict) or "of" not in form:
            return List(self._colour(form, net, what))
        parts = self._object(form, what, frozenset(("of", "length_max")))
        most = parts.get("length_max")
        if most is not None and (type(most) is not int or most < 0):
            raise NetInvalid(self._where, f"{what}: length_max {most!r} is not a count")
        return List(self._colour(parts["of"], net, what), most)

    def _page(self, page: Page, form: Any) -> None:
        self._where = page.where
        parts = self._object(form, f"page {page.name}", _PAGE)
        for name, place in self._object(parts.get("places", {}), "places").items():
            options = self._object(place, f"place {name}", _PLACE)
            page.place(name, **self._checked(options, f"place {name}"))
        for name, transition in self._object(parts.get("transitions", {}), "transitions").items():
            options = self._object(transition, f"transition {name}", _TRANSITION)
            page.transition(name, **self._checked(options, f"transition {name}"))
        for name, below in self._object(parts.get("substitutions", {}), "substitutions").items():
            what = f"substitution {name}"
            options = self._checked(self._object(below, what, _SUBSTITUTION), what)
            sockets = self._object(options.get("sockets", {}), what)
            inner = self._text(options.get("page", ""), what)
            page.substitution(name, inner, sockets, options.get("position"))
        arcs = parts.get("arcs", [])
        if not isinstance(arcs, list):
            raise NetInvalid(self._where, "arcs are a list")
        for arc in arcs:
            self._arc(page, arc)

    def _arc(self, page: Page, arc: Any) -> None:
        if not isinstance(arc, list) or not 2 <= len(arc) <= 4:
            raise NetInvalid(self._where, f"an arc is [from, to, expression, delay], not {arc!r}")
        source, target, *rest = (self._text(part, "arc") for part in arc)
        expression = rest[0] if rest else "()"
        page.arc(source, target, expression, delay=rest[1] if len(rest) > 1 else "0")

    def _checked(self, options: dict[str, Any], what: str) -> dict[str, Any]:
        """Options of the right form: a wrong one must not surface as an error of Python."""
        made = dict(options)
        for key, value in options.items():
            if key == "position":
                made[key] = self._position(value, what)
            elif key == "code":
                code = self._object(value, what)
                made[key] = {name: self._text(text, what) for name, text in code.items()}
            elif key == "priority" and type(value) is not int:
                raise NetInvalid(self._where, f"{what}: priority {value!r} is not a whole number")
            elif key == "at" and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise NetInvalid(self._where, f"{what}: at {value!r} is not a time")
            elif key == "port" and value not in ("in", "out", "io"):
                raise NetInvalid(self._where, f"{what}: a port is in, out or io, not {value!r}")
            elif key in ("colour", "initial", "fusion", "guard", "delay"):
                made[key] = self._text(value, f"{what}, {key}")
        return made

    def _position(self, value: Any, what: str) -> tuple[float, float]:
        parts = value if isinstance(value, list) else []
        if len(parts) == 2 and all(type(part) in (int, float) for part in parts):
            return float(parts[0]), float(parts[1])
        raise NetInvalid(self._where, f"{what}: a position is [x, y], not {value!r}")

    def _object(self, value: Any, what: str, keys: frozenset[str] | None = None) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise NetInvalid(self._where, f"{what}: an object is wanted, not {value!r}")
        if keys is not None and (unknown := sorted(set(value) - keys)):
            known = ", ".join(sorted(keys))
            raise NetInvalid(self._where, f"{what}: unknown key {unknown[0]!r}; there are {known}")
        return value

    def _text(self, value: Any, what: str) -> str:
        if not isinstance(value, str):
            raise NetInvalid(self._where, f"{what}: text is wanted, not {value!r}")
        return value


def write_net(net: Net) -> str:
    functions = {}
    for name, function in net.functions.items():
        if not isinstance(function, Defined):
            raise NetInvalid(net.where, f"{name} is a function of Python, which no file can hold")
        functions[name] = {"parameters": dict(function.parameters), "body": function.body}
    made: dict[str, Any] = {
        "net": net.name,
        "time": "int" if isinstance(net.time, Int) else "real",
        "root": net.root_page,
        "colours": {n: _colour_form(c) for n, c in net.colours.items() if n != "Unit"},
        "variables": net.variables,
        "constants": net.constants,
        "functions": functions,
        "pages": {name: _page_form(page) for name, page in net.pages.items()},
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _colour_form(colour: Colour) -> Any:
    form = _bare_form(colour)
    if not colour.timed:
        return form
    return f"{form} timed" if isinstance(form, str) else {**form, "timed": True}


def _bare_form(colour: Colour) -> Any:
    if isinstance(colour, Int) and (colour.least is not None or colour.most is not None):
        return {"int": [colour.least, colour.most]}
    if isinstance(colour, Enum):
        return {"enum": list(colour.names)}
    if isinstance(colour, Product):
        return {"product": [_colour_form(part) for part in colour.parts]}
    if isinstance(colour, Record):
        return {"record": {name: _colour_form(part) for name, part in colour.fields}}
    if isinstance(colour, List):
        element = _colour_form(colour.element)
        if colour.length_max is None:
            return {"list": element}
        return {"list": {"of": element, "length_max": colour.length_max}}
    return next(name for name, kind in _PLAIN.items() if type(colour) is kind)


def _page_form(page: Page) -> dict[str, Any]:
    return {
        "places": {name: _place_form(place) for name, place in page.places.items()},
        "transitions": {name: _transition_form(each) for name, each in page.transitions.items()},
        "substitutions": {
            name: {
                "page": below.page,
                "sockets": dict(below.sockets),
                **_position_form(below.position),
            }
            for name, below in page.substitutions.items()
        },
        "arcs": [
            [
                *((arc.place, arc.transition) if arc.inward else (arc.transition, arc.place)),
                arc.expression,
                *([arc.delay] if arc.delay != "0" else []),
            ]
            for arc in page.arcs
        ],
    }


def _place_form(place: Place) -> dict[str, Any]:
    usual = Place(place.name, "")
    form: dict[str, Any] = {"colour": place.colour}
    for key in ("initial", "at", "port", "fusion"):
        value = getattr(place, key)
        if value != getattr(usual, key):
            form[key] = value
    return {**form, **_position_form(place.position)}


def _transition_form(transition: Transition) -> dict[str, Any]:
    form: dict[str, Any] = {}
    if transition.guard != "True":
        form["guard"] = transition.guard
    if transition.priority != PRIORITY_NORMAL:
        form["priority"] = transition.priority
    if transition.delay != "0":
        form["delay"] = transition.delay
    if transition.code:
        form["code"] = dict(transition.code)
    return {**form, **_position_form(transition.position)}


def _position_form(point: tuple[float, float] | None) -> dict[str, Any]:
    return {} if point is None else {"position": [float(part) for part in point]}
