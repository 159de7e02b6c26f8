"""Reads P/T nets from PNML, with the arcs and capacities that tools add to the standard.

inhibitor arc   <arc type="inhibitor">, <type value="inhibitor"/>, <arctype>inhibitor</arctype>
reset arc       the same with "reset"; it joins a place and a transition in either direction
read arc        the same with "read" or "test": it takes tokens and puts them back
capacity        <capacity> of a place; 0 means none
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from xml.etree.ElementTree import Element

from dovemq.models.petri.errors import NetInvalid
from dovemq.models.petri.nets import Net, Page, free_name
from dovemq.models.petri.pnml.document import (
    REFERENCES,
    PnmlNet,
    label_of,
    part_of,
    position_of,
    tag_of,
)

COUNT_MAX: Final = 1_000_000_000
_NORMAL: Final = ("", "normal", "ordinary", "regular")
_READ: Final = ("read", "test")
_LABELS: Final = {
    "place": frozenset(("initialmarking", "capacity")),
    "transition": frozenset(("orientation", "rate", "timed", "infiniteserver", "priority")),
    "arc": frozenset(("inscription", "type", "arctype", "arcpath", "tagged")),
}
_ALIKE: Final = ("priority", "timed")
"""Labels that change the behaviour of a net only if its transitions differ in them."""


class NodeNames:
    """The names of the nodes that are read, by their ids and those of references to them."""

    def __init__(self, document: PnmlNet) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._aliases: dict[str, str] = {}

    def claim(self, page: Page, node: Element) -> str:
        """Returns a free name: the label of the node, or a valid name made of it."""
        key = node.get("id", "")
        if not key or key in self._names:
            text = f"the id {key!r} of a {tag_of(node)} is empty or not unique"
            raise NetInvalid(self._document.where, text)
        self._names[key] = name = free_name(label_of(node, "name") or key, page)
        return name

    def parts(self, labels: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, Element]]:
        """Yields places and transitions, then arcs; references are remembered.

        `labels` are those that each kind of part may have.
        """
        arcs = []
        for tag, node in self._document.nodes():
            if tag in REFERENCES:
                self._aliases[node.get("id", "")] = node.get("ref", "")
                continue
            self._document.check_labels(node, labels[tag])
            if tag == "arc":
                arcs.append(node)
            else:
                yield tag, node
        for node in arcs:
            yield "arc", node

    def ends(self, arc: Element) -> tuple[str, str]:
        source, target = (self._end(arc, word) for word in ("source", "target"))
        return source, target

    def _end(self, arc: Element, word: str) -> str:
        key = wanted = arc.get(word, "")
        seen = {key}
        while key in self._aliases and self._aliases[key] not in seen:
            key = self._aliases[key]
            seen.add(key)
        if key not in self._names:
            raise NetInvalid(self._document.at(arc), f"its {word} {wanted!r} does not exist")
        return self._names[key]


class PtReader:
    def __init__(self, document: PnmlNet) -> None:
        self._document = document
        self._names = NodeNames(document)
        self._alike: dict[str, set[str]] = {label: set() for label in _ALIKE}
        self._tokens: set[str] = set()

    def read(self) -> Net:
        net = Net(self._document.title)
        page = net.page("Main")
        read = {"place": self._place, "transition": self._transition, "arc": self._arc}
        for tag, node in self._names.parts(_LABELS):
            read[tag](page, node)
        self._check_alike()
        return net

    def _place(self, page: Page, node: Element) -> None:
        capacity = self._number(node, "capacity", 0) or None
        initial = self._number(node, "initialMarking", 0)
        name = self._names.claim(page, node)
        page.place(name, initial=initial, capacity=capacity, position=position_of(node))

    def _transition(self, page: Page, node: Element) -> None:
        for label in _ALIKE:
            self._alike[label].add(label_of(node, label))
        page.transition(self._names.claim(page, node), position=position_of(node))

    def _check_alike(self) -> None:
        for label, values in self._alike.items():
            if len(values) > 1:
                text = f"its transitions differ in their {label!r}, which is not supported"
                raise NetInvalid(self._document.where, text)
        if len(self._tokens) > 1:
            kinds = ", ".join(sorted(self._tokens))
            text = f"tokens of several kinds ({kinds}) are not supported in a P/T net"
            raise NetInvalid(self._document.where, text)

    def _arc(self, page: Page, node: Element) -> None:
        source, target = self._names.ends(node)
        kind = self._kind(node)
        weight = self._number(node, "inscription", 1)
        inward = source in page.places
        if not weight:
            raise NetInvalid(self._document.at(node), "an arc must have a weight of at least 1")
        if kind in _NORMAL:
            page.arc(source, target, weight=weight)
        elif kind == "reset":
            page.reset(*((source, target) if inward else (target, source)))
        elif not inward:
            text = f"an arc of type {kind!r} must lead from a place to a transition"
            raise NetInvalid(self._document.at(node), text)
        elif kind == "inhibitor":
            page.inhibitor(source, target, weight)
        else:
            page.arc(source, target, weight=weight)
            page.arc(target, source, weight=weight)

    def _kind(self, node: Element) -> str:
        named = {node.get("type", ""), label_of(node, "type"), label_of(node, "arctype")}
        kinds = {each.strip().lower() for each in named} - set(_NORMAL)
        if len(kinds) > 1:
            raise NetInvalid(self._document.at(node), f"it has several types: {sorted(kinds)}")
        kind = next(iter(kinds), "")
        if kind and kind not in ("inhibitor", "reset", *_READ):
            raise NetInvalid(self._document.at(node), f"an arc of type {kind!r} is not supported")
        return kind

    def _number(self, node: Element, label: str, default: int) -> int:
        if part_of(node, label) is None:
            return default
        text = label_of(node, label)
        if not text:
            return default
        # Some tools write the kind of the tokens too: "Default,3".
        kind, _, digits = text.rpartition(",")
        if kind:
            self._tokens.add(kind)
        digits = digits.strip()
        if "," in kind or not re.fullmatch(r"[0-9]{1,10}", digits) or int(digits) > COUNT_MAX:
            raise NetInvalid(self._document.at(node), f"{label} {text!r} is not a count")
        return int(digits)
