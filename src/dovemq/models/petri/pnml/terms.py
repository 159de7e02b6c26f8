"""Terms of symmetric nets as expressions of the language of nets.

An element of an enumeration is its position, from 0. A dot is a plain token. A broadcast such as
`all` inside a tuple becomes a list of all its tuples. Operators that are not read are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final
from xml.etree.ElementTree import Element

from dovemq.models.petri.colours import Colour
from dovemq.models.petri.errors import ExpressionInvalid
from dovemq.models.petri.pnml.document import parts_of, tag_of

ELEMENTS_MAX: Final = 100_000
"""The most tokens that a broadcast stands for."""
_COMPARED: Final = {
    "equality": "==",
    "inequality": "!=",
    "lessthan": "<",
    "lessthanorequal": "<=",
    "greaterthan": ">",
    "greaterthanorequal": ">=",
}
_JOINED: Final = {"and": " and ", "or": " or "}
_SHIFTS: Final = {"successor": 1, "predecessor": -1}


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort: its colour set, and its values as expressions. `cyclic` allows successors."""

    name: str
    colour: Colour
    values: tuple[str, ...]
    cyclic: bool = False


@dataclass(frozen=True, slots=True)
class TermReader:
    """The names that terms may use, by their ids in the document."""

    sorts: Mapping[str, Sort]
    variables: Mapping[str, tuple[str, Sort]]
    constants: Mapping[str, tuple[str, Sort]]

    def bag(self, term: Element) -> str:
        """A multiset."""
        tag, inner = tag_of(term), subterms(term)
        if tag == "add":
            return " + ".join(f"({self.bag(each)})" for each in inner)
        if tag == "numberof":
            count, of = (inner[0], inner[1]) if len(inner) == 2 else (None, inner[0])
            return self._times(_number(count) if count is not None else 1, of)
        return self._times(1, term)

    def _times(self, count: int, term: Element) -> str:
        values = self._values(term)
        if len(values) * count > ELEMENTS_MAX:
            raise ExpressionInvalid(f"more than {ELEMENTS_MAX} tokens in one term")
        if len(values) == 1:
            return f"times({count}, {values[0]})"
        return f"all_of([{', '.join(values * count)}])"

    def _values(self, term: Element) -> list[str]:
        """The values that a term stands for: one, or those of a broadcast."""
        tag, inner = tag_of(term), subterms(term)
        if tag == "all":
            return list(self.sort(inner[0]).values)
        if tag != "tuple":
            return [self.value(term)[0]]
        parts = [self._values(each) for each in inner]
        return [f"({', '.join(each)},)" for each in product(*parts)]

    def value(self, term: Element) -> tuple[str, Sort | None]:
        """A single value, with its sort where that is known."""
        tag, inner = tag_of(term), subterms(term)
        if tag == "variable":
            return self._known(self.variables, term.get("refvariable", ""))
        if tag == "useroperator":
            return self._known(self.constants, term.get("declaration", ""))
        if tag == "dotconstant":
            return "()", None
        if tag == "finiteintrangeconstant":
            return str(int(term.get("value", "0"))), None
        if tag in _SHIFTS:
            text, sort = self.value(inner[0])
            if sort is None or not sort.cyclic:
                raise ExpressionInvalid(f"{tag} needs an element of a cyclic enumeration")
            return f"(({text}) + {_SHIFTS[tag]}) % {len(sort.values)}", sort
        if tag == "tuple":
            return f"({', '.join(self.value(each)[0] for each in inner)},)", None
        raise ExpressionInvalid(f"the operator {tag!r} is not supported")

    def condition(self, term: Element) -> str:
        tag, inner = tag_of(term), subterms(term)
        if tag in _COMPARED:
            left, right = (self.value(each)[0] for each in inner)
            return f"({left}) {_COMPARED[tag]} ({right})"
        if tag in _JOINED:
            return _JOINED[tag].join(f"({self.condition(each)})" for each in inner)
        if tag == "not":
            return f"not ({self.condition(inner[0])})"
        if tag == "imply":
            first, second = (self.condition(each) for each in inner)
            return f"not ({first}) or ({second})"
        if tag == "booleanconstant":
            return "True" if term.get("value") == "true" else "False"
        raise ExpressionInvalid(f"the operator {tag!r} is not supported in a condition")

    def sort(self, element: Element) -> Sort:
        key = element.get("declaration", "") if tag_of(element) == "usersort" else tag_of(element)
        if key not in self.sorts:
            raise ExpressionInvalid(f"the sort {key!r} is not supported or not declared")
        return self.sorts[key]

    @staticmethod
    def _known(names: Mapping[str, tuple[str, Sort]], key: str) -> tuple[str, Sort]:
        if key not in names:
            raise ExpressionInvalid(f"the name {key!r} is not declared")
        return names[key]


def subterms(term: Element) -> list[Element]:
    """The arguments of an operator, which PNML wraps in `subterm`."""
    found = []
    for part in parts_of(term):
        found += parts_of(part) if tag_of(part) == "subterm" else [part]
    return found


def _number(term: Element) -> int:
    if tag_of(term) != "numberconstant" or not term.get("value", "").isdecimal():
        raise ExpressionInvalid("the number of tokens must be a constant")
    return int(term.get("value", "0"))
