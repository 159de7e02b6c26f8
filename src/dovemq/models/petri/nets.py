"""A net as it is written: declarations and pages of places, transitions and arcs.

    net = Net("counter")
    net.colour("Number", Int())
    net.variable("n", "Number")
    page = net.page("Main")
    page.place("Count", "Number", initial="0")
    page.transition("Step", guard="n < 10")
    page.arc("Count", "Step", "n")
    page.arc("Step", "Count", "n + 1")

Owns names and what can be told without looking at colours. Refuses to judge expressions:
`checked(net)` (`checking.py`) does, once the pages are put together.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from dovemq.models.petri.colours import Colour, Enum, Int, List, Product, Record, Unit
from dovemq.models.petri.errors import NetInvalid, Where
from dovemq.models.petri.functions import WORDS

Direction = Literal["in", "out", "io"]
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
PRIORITY_NORMAL: Final = 100


@dataclass(frozen=True, slots=True)
class Place:
    """`initial` is a multiset expression; its tokens can be taken from time `at` on."""

    name: str
    colour: str
    initial: str = "none"
    at: float = 0
    port: Direction | None = None
    fusion: str = ""
    position: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """Lower `priority` goes first. `code` binds further variables, in order, when it fires."""

    name: str
    guard: str = "True"
    priority: int = PRIORITY_NORMAL
    delay: str = "0"
    code: tuple[tuple[str, str], ...] = ()
    position: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Substitution:
    """A transition that stands for a page: `sockets` says which place each of its ports is."""

    name: str
    page: str
    sockets: tuple[tuple[str, str], ...]
    position: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Arc:
    place: str
    transition: str
    inward: bool
    expression: str
    delay: str = "0"

    def __str__(self) -> str:
        ends = (self.place, self.transition) if self.inward else (self.transition, self.place)
        return f"{ends[0]} → {ends[1]} ({self.expression})"


@dataclass(frozen=True, slots=True)
class Defined:
    """A function of the net: an expression over parameters with their colours."""

    parameters: tuple[tuple[str, str], ...]
    body: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """A Python function; nets with such functions cannot be written to a file."""

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
        """Options: those of `Place`; `initial` may be a count of tokens of one value."""
        self._claim(name)
        if isinstance(initial := options.get("initial"), int) and colour == "Unit":
            options["initial"] = f"times({initial}, ())"
        self.places[name] = made = Place(name, colour, **options)
        return made

    def transition(
        self, name: str, *, code: Mapping[str, str] | None = None, **options: Any
    ) -> Transition:
        self._claim(name)
        parts = tuple((code or {}).items())
        self.transitions[name] = made = Transition(name, code=parts, **options)
        return made

    def substitution(
        self,
        name: str,
        page: str,
        sockets: Mapping[str, str],
        position: tuple[float, float] | None = None,
    ) -> Substitution:
        self._claim(name)
        made = Substitution(name, page, tuple(sockets.items()), position)
        self.substitutions[name] = made
        return made

    def arc(
        self,
        source: str,
        target: str,
        expression: str = "()",
        *,
        weight: int | None = None,
        delay: str = "0",
    ) -> Arc:
        """From a place to a transition, or back; `weight` is the P/T form of an expression."""
        if weight is not None:
            expression = f"times({weight}, ())"
        inward = source in self.places
        place, transition = (source, target) if inward else (target, source)
        if place not in self.places or transition not in self.transitions:
            raise NetInvalid(
                self.where.at(arc=f"{source} → {target}"),
                "an arc joins a place and a transition of its page",
            )
        made = Arc(place, transition, inward, expression, delay)
        self.arcs.append(made)
        return made

    def flow(self, place: str, transition: str, taken: str, put: str, **options: Any) -> None:
        """Two arcs: a token is taken, and another put back into the same place."""
        self.arc(place, transition, taken)
        self.arc(transition, place, put, **options)

    def _claim(self, name: str) -> None:
        if not NAME.fullmatch(name):
            raise NetInvalid(self.where, f"{name!r} is not a name: letters, digits, underscores")
        if name in self.places or name in self.transitions or name in self.substitutions:
            raise NetInvalid(self.where, f"the name {name!r} is used twice")


class Net:
    """The first page that is added is the root, unless `root` names another.

    `time` is the colour of the clock: `Real()`, or `Int(0)` for whole units of time.
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
        """Sets without a value, and fields that no expression could name."""
        where = self.where.at(part=f"colour {name}")
        if isinstance(colour, Record):
            for field_name in colour.names:
                if not NAME.fullmatch(field_name) or colour.names.count(field_name) > 1:
                    raise NetInvalid(where, f"{field_name!r} cannot be a field, or is one twice")
        if isinstance(colour, Record | Product):
            for part in colour.parts:
                self._check(name, part)
        elif isinstance(colour, List):
            self._check(name, colour.element)
        ends = (colour.least, colour.most) if isinstance(colour, Int) else (None, None)
        if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
            raise NetInvalid(where, f"no number is in {colour}")
        if isinstance(colour, Enum | Product | Record) and not (
            colour.names if isinstance(colour, Enum) else colour.parts
        ):
            raise NetInvalid(where, "it has no values")

    def variable(self, names: str, colour: str) -> None:
        """One name, or several with spaces between them."""
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
        """A Python function. `chance`: it draws or has effects, so guards may not call it."""
        self._claim(name, "function")
        self.functions[name] = Foreign(call, returns, chance)

    def page(self, name: str) -> Page:
        if not NAME.fullmatch(name) or name in self.pages:
            raise NetInvalid(self.where, f"page {name!r} is there already, or is not a name")
        self.pages[name] = made = Page(name, self.where.at(page=name))
        return made

    @property
    def root_page(self) -> str:
        if not self.pages:
            raise NetInvalid(self.where, "the net has no page")
        return self.root or next(iter(self.pages))

    def with_constants(self, **values: Any) -> "Net":
        """The same net with other values of its constants."""
        unknown = [name for name in values if name not in self.constants]
        if unknown:
            raise NetInvalid(self.where, f"no such constant: {', '.join(unknown)}")
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
