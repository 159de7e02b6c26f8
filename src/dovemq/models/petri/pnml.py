"""P/T nets as PNML (ISO/IEC 15909-2), the exchange format of Petri net tools.

Places, transitions, arcs, weights, initial markings, names and positions are read and written.
Coloured nets are refused, and so are files with a document type, which could load or expand other
content.
"""

import re
from typing import Final
from xml.etree import ElementTree

from dovemq.models.petri.checking import checked
from dovemq.models.petri.errors import NetInvalid, Where
from dovemq.models.petri.exploring import constant_effect
from dovemq.models.petri.nets import Net, Page, free_name

NAMESPACE: Final = "http://www.pnml.org/version-2009/grammar/pnml"
PT: Final = "http://www.pnml.org/version-2009/grammar/ptnet"
BYTES_MAX: Final = 50_000_000
COUNT_MAX: Final = 1_000_000_000


def read_pnml(text: str, source: str = "PNML") -> Net:
    """Reads the first net of a document. All its pages become one page."""
    where = Where(source)
    if len(text) > BYTES_MAX:
        raise NetInvalid(where, f"more than {BYTES_MAX} characters")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise NetInvalid(where, "a file with a document type is refused")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise NetInvalid(where, f"this is not XML: {error}") from None
    net = next((each for each in root.iter() if _tag(each) == "net"), None)
    if net is None:
        raise NetInvalid(where, "the document holds no net")
    kind = net.get("type", PT)
    if not kind.endswith(("ptnet", "PTNet", "P/T net")):
        raise NetInvalid(where, f"only P/T nets are read, not {kind}")
    return _Reader(where, net).read()


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


class _Reader:
    def __init__(self, where: Where, element: ElementTree.Element) -> None:
        self._where = where
        self._element = element
        self._names: dict[str, str] = {}

    def read(self) -> Net:
        title = self._text(self._element, "name") or self._element.get("id") or "net"
        net = Net(title)
        page = net.page("Main")
        for node in self._element.iter():
            if _tag(node) == "place":
                self._place(page, node)
            elif _tag(node) == "transition":
                name = self._claim(page, node)
                page.transition(name, position=_position(node))
        aliases = self._aliases()
        for node in self._element.iterfind(".//{*}arc"):
            self._arc(page, node, aliases)
        return net

    def _place(self, page: Page, node: ElementTree.Element) -> None:
        count = self._number(node, "initialMarking", 0)
        page.place(self._claim(page, node), initial=count, position=_position(node))

    def _arc(self, page: Page, node: ElementTree.Element, aliases: dict[str, str]) -> None:
        ends = []
        for end in ("source", "target"):
            key = node.get(end, "")
            name = self._names.get(aliases.get(key, key))
            if name is None:
                where = self._where.at(arc=node.get("id", ""))
                raise NetInvalid(where, f"its {end} {key!r} does not exist")
            ends.append(name)
        weight = self._number(node, "inscription", 1)
        if weight:
            page.arc(ends[0], ends[1], weight=weight)

    def _aliases(self) -> dict[str, str]:
        """Maps each reference node to the node that it refers to."""
        found = {}
        for node in self._element.iter():
            if _tag(node) in ("referencePlace", "referenceTransition"):
                found[node.get("id", "")] = node.get("ref", "")
        for key in found:
            seen = {key}
            while found[key] in found and found[key] not in seen:
                seen.add(found[key])
                found[key] = found[found[key]]
        return found

    def _claim(self, page: Page, node: ElementTree.Element) -> str:
        """Returns a free name: the label of the node, or a valid name made of it."""
        key = node.get("id", "")
        if not key or key in self._names:
            raise NetInvalid(
                self._where, f"the id {key!r} of a {_tag(node)} is empty or not unique"
            )
        label = self._text(node, "name") or key
        self._names[key] = name = free_name(label, page)
        return name

    @staticmethod
    def _text(node: ElementTree.Element, tag: str) -> str:
        child = node.find(f"{{*}}{tag}")
        if child is None:
            return ""
        return (child.findtext(".//{*}text") or child.text or "").strip()

    def _number(self, node: ElementTree.Element, tag: str, default: int) -> int:
        text = self._text(node, tag)
        if not text:
            return default
        # Some tools write "Default,3".
        text = text.rpartition(",")[2].strip()
        if not re.fullmatch(r"\d{1,10}", text) or int(text) > COUNT_MAX:
            raise NetInvalid(
                self._where.at(place=node.get("id", "")), f"{tag} {text!r} is not a count"
            )
        return int(text)


def _position(node: ElementTree.Element) -> tuple[float, float] | None:
    spot = node.find("{*}graphics/{*}position")
    if spot is None:
        return None
    try:
        return float(spot.get("x", "0")), float(spot.get("y", "0"))
    except ValueError:
        return None


def write_pnml(net: Net) -> str:
    """Writes a P/T net. Pages are flattened; a net of one page keeps its names."""
    flat = checked(net)
    if not flat.is_pt or any(constant_effect(each, flat) is None for each in flat.transitions):
        raise NetInvalid(flat.net.where, "only P/T nets are written as PNML: unfold this net first")
    root = ElementTree.Element("pnml", xmlns=NAMESPACE)
    element = ElementTree.SubElement(root, "net", id="net", type=PT)
    _label(element, "name", net.name)
    page = ElementTree.SubElement(element, "page", id="page")
    for place in flat.places:
        node = ElementTree.SubElement(page, "place", id=f"p{place.number}")
        _label(node, "name", place.name)
        if place.initial.size:
            _label(node, "initialMarking", str(place.initial.size))
    for transition in flat.transitions:
        node = ElementTree.SubElement(page, "transition", id=f"t{transition.number}")
        _label(node, "name", transition.name)
        arcs = [
            (f"p{take.place}", f"t{transition.number}", take.count) for take in transition.takes
        ]
        for put in transition.puts:
            for part in put.bag:
                count = int(part.count.code)  # type: ignore[union-attr]
                arcs.append((f"t{transition.number}", f"p{put.place}", count))
        for number, (source, target, weight) in enumerate(arcs):
            name = f"a{transition.number}_{number}"
            arc = ElementTree.SubElement(page, "arc", id=name, source=source, target=target)
            if weight != 1:
                _label(arc, "inscription", str(weight))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _label(parent: ElementTree.Element, tag: str, text: str) -> None:
    label = ElementTree.SubElement(parent, tag)
    ElementTree.SubElement(label, "text").text = text
