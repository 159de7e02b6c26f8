"""Reads symmetric nets, the coloured nets of PNML with finite sorts.

Sorts are dots, enumerations, cyclic enumerations, ranges of integers and products of them.
Partitions and other operators are refused by name.
"""

import math
from typing import Final
from xml.etree.ElementTree import Element

from dovemq.models.petri.colours import Int, Product, Unit
from dovemq.models.petri.errors import ExpressionInvalid, NetInvalid, locating
from dovemq.models.petri.functions import WORDS
from dovemq.models.petri.nets import Net, Page, free_name
from dovemq.models.petri.pnml.document import (
    PnmlNet,
    part_of,
    parts_of,
    position_of,
    tag_of,
)
from dovemq.models.petri.pnml.reading import NodeNames
from dovemq.models.petri.pnml.terms import ELEMENTS_MAX, Sort, TermReader, subterms

_DOT: Final = Sort("Unit", Unit(), ("()",))
_LABELS: Final = {
    "place": frozenset(("type", "hlinitialmarking")),
    "transition": frozenset(("condition",)),
    "arc": frozenset(("hlinscription",)),
}


class SymmetricReader:
    def __init__(self, document: PnmlNet) -> None:
        self._document = document
        self._names = NodeNames(document)
        self._net = Net(document.title)
        self._sorts: dict[str, Sort] = {"dot": _DOT}
        self._variables: dict[str, tuple[str, Sort]] = {}
        self._constants: dict[str, tuple[str, Sort]] = {}
        self._terms = TermReader(self._sorts, self._variables, self._constants)
        self._used = {*WORDS, "Unit"}

    def read(self) -> Net:
        with locating(self._document.where.at(part="declarations")):
            self._declare()
        page = self._net.page("Main")
        for tag, node in self._names.parts(_LABELS):
            if tag == "arc":
                self._arc(page, node)
                continue
            with locating(self._document.at(node)):
                (self._place if tag == "place" else self._transition)(page, node)
        return self._net

    def _declare(self) -> None:
        declaration = part_of(self._document.net, "declaration")
        structure = part_of(declaration, "structure") if declaration is not None else None
        if structure is None:
            return
        found = [each for group in parts_of(structure) for each in parts_of(group)]
        order = {"namedsort": 0, "variabledecl": 1}
        for each in found:
            if tag_of(each) not in order:
                raise ExpressionInvalid(f"the declaration {tag_of(each)!r} is not supported")
        # A product may be declared before its parts: it waits for the next round.
        waiting = [each for each in found if tag_of(each) == "namedsort"]
        while waiting:
            left = [each for each in waiting if not self._declared(each)]
            if len(left) == len(waiting):
                raise ExpressionInvalid(f"the sort {left[0].get('id')!r} has unknown parts")
            waiting = left
        for each in found:
            if tag_of(each) == "variabledecl":
                sort = self._terms.sort(parts_of(each)[0])
                name = self._claim(each)
                self._net.variable(name, sort.name)
                self._variables[each.get("id", "")] = (name, sort)

    def _claim(self, element: Element) -> str:
        name = free_name(element.get("name", "") or element.get("id", ""), self._used)
        self._used.add(name)
        return name

    def _declared(self, element: Element) -> bool:
        """Declares a sort; returns False if it has parts that are not declared yet."""
        form, key = parts_of(element)[0], element.get("id", "")
        tag = tag_of(form)
        if tag == "dot":
            self._sorts[key] = _DOT
        elif tag in ("finiteenumeration", "cyclicenumeration"):
            constants = parts_of(form)
            values = tuple(str(number) for number in range(len(constants)))
            sort = self._sort(element, Int(0, len(values) - 1), values, tag[0] == "c")
            for value, constant in zip(values, constants, strict=True):
                self._constants[constant.get("id", "")] = (value, sort)
        elif tag == "finiteintrange":
            least, most = int(form.get("start", "0")), int(form.get("end", "0"))
            _check_size(most - least + 1)
            self._sort(element, Int(least, most), tuple(map(str, range(least, most + 1))))
        elif tag == "productsort":
            keys = [part.get("declaration", tag_of(part)) for part in parts_of(form)]
            if not all(each in self._sorts for each in keys):
                return False
            parts = [self._sorts[each] for each in keys]
            values = tuple(self._terms_of(parts))
            self._sort(element, Product(tuple(part.colour for part in parts)), values)
        else:
            raise ExpressionInvalid(f"the sort {tag!r} is not supported")
        return True

    @staticmethod
    def _terms_of(parts: list[Sort]) -> list[str]:
        _check_size(math.prod(len(part.values) for part in parts))
        found = [""]
        for part in parts:
            found = [f"{before}{value}, " for before in found for value in part.values]
        return [f"({each})" for each in found]

    def _sort(
        self, element: Element, colour: Int | Product, values: tuple[str, ...], cyclic: bool = False
    ) -> Sort:
        name = self._claim(element)
        self._net.colour(name, colour)
        self._sorts[element.get("id", "")] = sort = Sort(name, colour, values, cyclic)
        return sort

    def _place(self, page: Page, node: Element) -> None:
        kind = self._term(node, "type")
        sort = self._terms.sort(kind) if kind is not None else _DOT
        held = self._term(node, "hlinitialMarking")
        initial = self._terms.bag(held) if held is not None else "none"
        name = self._names.claim(page, node)
        page.place(name, sort.name, initial=initial, position=position_of(node))

    def _transition(self, page: Page, node: Element) -> None:
        test = self._term(node, "condition")
        guard = self._terms.condition(test) if test is not None else "True"
        page.transition(self._names.claim(page, node), guard=guard, position=position_of(node))

    def _arc(self, page: Page, node: Element) -> None:
        if node.get("type"):
            text = "a symmetric net has no types of arcs"
            raise NetInvalid(self._document.at(node), text)
        term = self._term(node, "hlinscription")
        with locating(self._document.at(node)):
            text = self._terms.bag(term) if term is not None else "()"
        page.arc(*self._names.ends(node), text)

    @staticmethod
    def _term(node: Element, label: str) -> Element | None:
        """The term of a label, which is its `structure`; its text is for people."""
        found = part_of(node, label)
        structure = part_of(found, "structure") if found is not None else None
        inner = subterms(structure) if structure is not None else []
        return inner[0] if inner else None


def _check_size(count: int) -> None:
    if count > ELEMENTS_MAX:
        raise ExpressionInvalid(f"a sort of {count} values has more than {ELEMENTS_MAX}")
