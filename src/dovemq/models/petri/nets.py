"""A net as its author writes it: declarations, and pages of places, transitions and arcs.

    net = Net("counter")
    net.colour("Number", Int())
    net.variable("n", "Number")
    page = net.page("Main")
    page.place("Count", "Number", initial="0")
    page.transition("Step", guard="n < 10")
    page.arc("Count", "Step", "n")
    page.arc("Step", "Count", "n + 1")

This module checks names and the ends of arcs. Expressions are checked later, by `checked(net)`
(`checking.py`), because an expression may use what is declared after it.
"""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from msgspec import Struct

from dovemq.models.petri.colours import Colour, Enum, Int, List, Product, Record, Unit
from dovemq.models.petri.errors import NetInvalid, Where
from dovemq.models.petri.functions import WORDS

Direction = Literal["in", "out", "io"]
ArcKind = Literal["normal", "inhibitor", "reset"]
Position = tuple[int | float, int | float]
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
PRIORITY_NORMAL: Final = 100


class Node(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A node of a page. Its fields other than `name` are its keys in a net file."""

    name: str


class Place(Node, frozen=True):
    """`initial` is a multiset expression; its tokens can be taken from time `at` on.

    A transition that would leave more than `capacity` tokens in the place is not enabled.
    """

    colour: str = "Unit"
    initial: str = "none"
    at: int | float = 0
    capacity: int | None = None
    port: Direction | None = None
    fusion: str = ""
    position: Position | None = None


class Transition(Node, frozen=True):
    """A transition. The lowest `priority` fires first.

    `code` is the code segment: it binds further variables, in order, when the transition fires.
    """

    guard: str = "True"
    priority: int = PRIORITY_NORMAL
    delay: str = "0"
    code: dict[str, str] = {}
    position: Position | None = None


class Substitution(Node, frozen=True):
    """A transition that represents a page; `sockets` maps each port of the page to a place."""

    page: str
    sockets: dict[str, str] = {}
    position: Position | None = None


def free_name(text: str, taken: Container[str]) -> str:
    """A valid name made of `text` that is not among those taken."""
    plain = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    name = plain = plain if NAME.fullmatch(plain) else f"n_{plain or 'node'}"
    number = 1
    while name in taken:
        number += 1
        name = f"{plain}_{number}"
    return name


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc. The expression of an inhibitor arc is its weight, that of a reset arc is empty."""

    place: str
    transition: str
    inward: bool
    expression: str
    delay: str = "0"
    kind: ArcKind = "normal"

    @property
    def ends(self) -> tuple[str, str]:
        """Source and target."""
        ends = (self.place, self.transition)
        return ends if self.inward else ends[::-1]

    def __str__(self) -> str:
        source, target = self.ends
        if self.kind != "normal":
            return f"{source} → {target} ({self.kind} {self.expression}".rstrip() + ")"
        return f"{source} → {target} ({self.expression})"


@dataclass(frozen=True, slots=True)
class Defined:
    """A function of the net: an expression over parameters with their colours."""

    parameters: tuple[tuple[str, str], ...]
    body: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """A Python function. A net that has one cannot be written to a file."""

    call: Callable[..., Any]
    returns: str | None
    chance: bool


@dataclass(slots=True)
class Page:
    name: str
    where: Where
    places: dict[str, Place] = field(default_factory=dict)
    transitions: dict[str, Transition] = field(default_factory=dict)
    substitutions: dict[str, Substitution] = field(default_factory=dict)
    arcs: list[Arc] = field(default_factory=list)

    def place(self, name: str, colour: str = "Unit", **options: Any) -> Place:
        """Adds a place. `options` are fields of `Place`.

        `initial` may be a count of tokens if the colour is Unit.
        """
        self._claim(name)
        if isinstance(initial := options.get("initial"), int) and colour == "Unit":
            options["initial"] = f"times({initial}, ())" if initial else "none"
        self.places[name] = made = Place(name, colour, **options)
        return made

    def transition(self, name: str, **options: Any) -> Transition:
        """Adds a transition. `options` are fields of `Transition`."""
        self._claim(name)
        self.transitions[name] = made = Transition(name, **options)
        return made

    def substitution(
        self, name: str, page: str, sockets: dict[str, str], position: Position | None = None
    ) -> Substitution:
        self._claim(name)
        self.substitutions[name] = made = Substitution(name, page, sockets, position)
        return made

    def __contains__(self, name: object) -> bool:
        """Whether a node of the page has this name."""
        return name in self.places or name in self.transitions or name in self.substitutions

    def arc(
        self,
        source: str,
        target: str,
        expression: str = "()",
        *,
        weight: int | None = None,
        delay: str = "0",
    ) -> Arc:
        """Adds an arc from a place to a transition or from a transition to a place.

        `weight` is a number of tokens of a P/T net; it replaces the expression.
        """
        if weight is not None:
            expression = f"times({weight}, ())"
        inward = source in self.places
        place, transition = (source, target) if inward else (target, source)
        return self._joined(Arc(place, transition, inward, expression, delay))

    def inhibitor(self, place: str, transition: str, weight: int = 1) -> Arc:
        """Adds an inhibitor arc: the place must hold fewer than `weight` tokens, delayed or not."""
        made = Arc(place, transition, True, str(weight), kind="inhibitor")
        if weight < 1:
            raise NetInvalid(self.where.at(arc=str(made)), "its weight must be at least 1")
        return self._joined(made)

    def reset(self, place: str, transition: str) -> Arc:
        """Adds a reset arc: a firing empties the place before it puts tokens."""
        return self._joined(Arc(place, transition, True, "", kind="reset"))

    def _joined(self, arc: Arc) -> Arc:
        if arc.place not in self.places or arc.transition not in self.transitions:
            raise NetInvalid(
                self.where.at(arc=" → ".join(arc.ends)),
                "an arc must join a place and a transition of its own page",
            )
        self.arcs.append(arc)
        return arc

    def flow(self, place: str, transition: str, taken: str, put: str, **options: Any) -> None:
        """Adds two arcs: one takes a token from the place, the other puts a token back."""
        self.arc(place, transition, taken)
        self.arc(transition, place, put, **options)

    def _claim(self, name: str) -> None:
        if not NAME.fullmatch(name):
            raise NetInvalid(
                self.where, f"{name!r} is not a name: use letters, digits and underscores"
            )
        if name in self:
            raise NetInvalid(self.where, f"the name {name!r} is used twice")


class Net:
    """A net. Its first page is the root of the hierarchy, unless `root` names another page.

    `time` is the colour of the clock: `Real()`, the default, or `Int(0)` for whole units of time.
    """

    def __init__(self, name: str, *, time: Colour | None = None, root: str = "") -> None:
        self.name = name
        self.where = Where(name)
        self.time = time
        self.root = root
        self.colours: dict[str, Colour] = {"Unit": Unit()}
        self.variables: dict[str, str] = {}
        self.constants: dict[str, Any] = {}
        self.functions: dict[str, Defined | Foreign] = {}
        self.pages: dict[str, Page] = {}

    def colour(self, name: str, colour: Colour) -> Colour:
        if name != "Unit":
            self._claim(name, "colour set")
        self._check(name, colour)
        self.colours[name] = colour
        return colour

    def _check(self, name: str, colour: Colour) -> None:
        """Refuses colour sets without values, and record fields that no expression could name."""
        where = self.where.at(part=f"colour {name}")
        if isinstance(colour, Record):
            for field_name in colour.names:
                if not NAME.fullmatch(field_name) or colour.names.count(field_name) > 1:
                    raise NetInvalid(where, f"the field {field_name!r} is repeated or not a name")
        if isinstance(colour, Record | Product):
            for part in colour.parts:
                self._check(name, part)
        elif isinstance(colour, List):
            self._check(name, colour.element)
        ends = (colour.least, colour.most) if isinstance(colour, Int) else (None, None)
        if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
            raise NetInvalid(where, f"{colour} holds no number")
        if isinstance(colour, Enum | Product | Record) and not (
            colour.names if isinstance(colour, Enum) else colour.parts
        ):
            raise NetInvalid(where, "the colour set has no values")

    def variable(self, names: str, colour: str) -> None:
        """Declares one variable, or several whose names are separated by spaces."""
        for name in names.split():
            self._claim(name, "variable")
            if colour not in self.colours:
                raise NetInvalid(self.where, f"variable {name}: unknown colour {colour!r}")
            self.variables[name] = colour

    def constant(self, name: str, value: Any) -> None:
        self._claim(name, "constant")
        self.constants[name] = value

    def function(self, name: str, parameters: Mapping[str, str], body: str) -> None:
        self._claim(name, "function")
        self.functions[name] = Defined(tuple(parameters.items()), body)

    def foreign(
        self,
        name: str,
        call: Callable[..., Any],
        returns: str | None = None,
        *,
        chance: bool = False,
    ) -> None:
        """Declares a Python function.

        `chance` says that it draws random numbers or has effects, so that guards may not call it.
        """
        self._claim(name, "function")
        self.functions[name] = Foreign(call, returns, chance)

    def page(self, name: str) -> Page:
        if not NAME.fullmatch(name) or name in self.pages:
            raise NetInvalid(self.where, f"page {name!r} exists already, or is not a name")
        self.pages[name] = made = Page(name, self.where.at(page=name))
        return made

    @property
    def variable_colours(self) -> dict[str, Colour]:
        return {name: self.colours[colour] for name, colour in self.variables.items()}

    @property
    def root_page(self) -> str:
        if not self.pages:
            raise NetInvalid(self.where, "the net has no page")
        return self.root or next(iter(self.pages))

    def with_constants(self, **values: Any) -> "Net":
        """Returns the same net with other values of its constants."""
        unknown = [name for name in values if name not in self.constants]
        if unknown:
            raise NetInvalid(self.where, f"the net has no constant {', '.join(unknown)}")
        other = Net(self.name, time=self.time, root=self.root)
        for part in ("colours", "variables", "functions", "pages"):
            setattr(other, part, getattr(self, part))
        other.constants = {**self.constants, **values}
        return other

    def _claim(self, name: str, what: str) -> None:
        if not NAME.fullmatch(name) or name in WORDS:
            raise NetInvalid(self.where, f"{name!r} cannot be the name of a {what}")
        for taken in (self.colours, self.variables, self.constants, self.functions):
            if name in taken:
                raise NetInvalid(self.where, f"the name {name!r} is declared twice")
