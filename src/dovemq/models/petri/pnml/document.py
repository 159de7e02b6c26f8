"""A PNML document: the net that is asked for, its nodes on all pages, and their labels.

The content of `toolspecific` elements belongs to other tools and is never read. An element or an
attribute that is not known is refused, because it may change what the net does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, ParseError, fromstring

from dovemq.models.petri.errors import NetInvalid, Where

BYTES_MAX: Final = 50_000_000
REFERENCES: Final = ("referencePlace", "referenceTransition")
_NODES: Final = ("place", "transition", "arc", *REFERENCES)
_SILENT: Final = frozenset(
    ("name", "graphics", "toolspecific", "declaration", "token", "labels", "text")
)
"""Elements of nets and pages that are read elsewhere or have no meaning for the behaviour."""
_ATTRIBUTES: Final = {
    "arc": frozenset(("id", "source", "target", "type")),
    "referencePlace": frozenset(("id", "ref")),
    "referenceTransition": frozenset(("id", "ref")),
}
_ONLY_ID: Final = frozenset(("id",))


def tag_of(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def parts_of(element: Element) -> list[Element]:
    """The children of an element, without the content of other tools."""
    return [child for child in element if tag_of(child) != "toolspecific"]


def part_of(element: Element, *tags: str) -> Element | None:
    """The first child with one of these tags, in any case of letters."""
    wanted = {tag.lower() for tag in tags}
    return next((each for each in parts_of(element) if tag_of(each).lower() in wanted), None)


def label_of(element: Element, *tags: str) -> str:
    """The text of a label: of its `text`, of its `value`, or its own."""
    label = part_of(element, *tags)
    if label is None:
        return ""
    for tag in ("text", "value"):
        inner = part_of(label, tag)
        if inner is not None:
            return (inner.text or "").strip()
    return (label.get("value") or label.text or "").strip()


def position_of(node: Element) -> tuple[float, float] | None:
    graphics = part_of(node, "graphics")
    spot = part_of(graphics, "position") if graphics is not None else None
    if spot is None:
        return None
    try:
        return float(spot.get("x", "0")), float(spot.get("y", "0"))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class PnmlNet:
    """One net of a document."""

    where: Where
    net: Element

    @classmethod
    def of(cls, text: str, where: Where, wanted: str) -> "PnmlNet":
        if len(text) > BYTES_MAX:
            raise NetInvalid(where, f"more than {BYTES_MAX} characters")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise NetInvalid(where, "a file with a document type is refused")
        try:
            root = fromstring(text)
        except ParseError as error:
            raise NetInvalid(where, f"this is not XML: {error}") from None
        nets = [each for each in (root, *parts_of(root)) if tag_of(each) == "net"]
        return cls(where, _chosen(nets, where, wanted))

    @property
    def kind(self) -> str:
        return self.net.get("type", "")

    @property
    def title(self) -> str:
        return label_of(self.net, "name") or self.net.get("id") or "net"

    def nodes(self) -> Iterator[tuple[str, Element]]:
        """Yields (tag, element) for each node of the net and its pages, in the file's order."""
        waiting = parts_of(self.net)[::-1]
        while waiting:
            element = waiting.pop()
            tag = tag_of(element)
            if tag == "page":
                waiting += parts_of(element)[::-1]
            elif tag in _NODES:
                self._check(element, tag)
                yield tag, element
            elif tag not in _SILENT:
                raise NetInvalid(self.where, f"the element {tag!r} is not supported")

    def _check(self, node: Element, tag: str) -> None:
        known = _ATTRIBUTES.get(tag, _ONLY_ID)
        for name in node.attrib:
            # An attribute of another namespace belongs to another tool.
            if name not in known and not name.startswith("{"):
                raise NetInvalid(
                    self.at(node), f"the attribute {name!r} of the {tag} is not supported"
                )

    def check_labels(self, node: Element, known: frozenset[str]) -> None:
        """Refuses labels that are not known."""
        for label in parts_of(node):
            if tag_of(label).lower() not in known | {"name", "graphics"}:
                text = f"the label {tag_of(label)!r} of the {tag_of(node)} is not supported"
                raise NetInvalid(self.at(node), text)

    def at(self, node: Element) -> Where:
        tag = tag_of(node)
        word = tag if tag in ("place", "transition", "arc") else "place"
        return self.where.at(**{word: node.get("id", "")})


def _chosen(nets: list[Element], where: Where, wanted: str) -> Element:
    if not nets:
        raise NetInvalid(where, "the document holds no net")
    names = [label_of(net, "name") or net.get("id", "") for net in nets]
    if not wanted:
        if len(nets) > 1:
            listed = ", ".join(net.get("id") or name for net, name in zip(nets, names, strict=True))
            raise NetInvalid(where, f"the document holds {len(nets)} nets, name one: {listed}")
        return nets[0]
    found = [net for net in nets if net.get("id") == wanted]
    found = found or [net for net, name in zip(nets, names, strict=True) if name == wanted]
    if len(found) != 1:
        raise NetInvalid(where, f"the document holds {len(found)} nets named {wanted!r}")
    return found[0]
