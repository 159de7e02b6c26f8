"""Writes P/T nets as PNML. Inhibitor and reset arcs are written as `<type value="…"/>`."""

from typing import Final
from xml.etree import ElementTree

from dovemq.models.petri.checking import CheckedNet, CheckedTransition, checked
from dovemq.models.petri.errors import NetInvalid
from dovemq.models.petri.exploring import constant_amounts
from dovemq.models.petri.nets import Net

NAMESPACE: Final = "http://www.pnml.org/version-2009/grammar/pnml"
PT: Final = "http://www.pnml.org/version-2009/grammar/ptnet"


def write_pnml(net: Net) -> str:
    """Writes a P/T net. Pages are flattened; a net of one page keeps its names."""
    flat = checked(net)
    if not flat.is_pt or any(constant_amounts(each, flat) is None for each in flat.transitions):
        raise NetInvalid(flat.net.where, "only P/T nets are written as PNML: unfold this net first")
    if len({each.priority for each in flat.transitions}) > 1:
        raise NetInvalid(flat.net.where, "PNML has no priorities of transitions")
    root = ElementTree.Element("pnml", xmlns=NAMESPACE)
    element = ElementTree.SubElement(root, "net", id="net", type=PT)
    _label(element, "name", net.name)
    page = ElementTree.SubElement(element, "page", id="page")
    for place in flat.places:
        node = ElementTree.SubElement(page, "place", id=f"p{place.number}")
        _label(node, "name", place.name)
        if place.initial.size:
            _label(node, "initialMarking", str(place.initial.size))
        if place.capacity is not None:
            _label(node, "capacity", str(place.capacity))
    for transition in flat.transitions:
        node = ElementTree.SubElement(page, "transition", id=f"t{transition.number}")
        _label(node, "name", transition.name)
        _write_arcs(page, transition, flat)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _write_arcs(page: ElementTree.Element, transition: CheckedTransition, net: CheckedNet) -> None:
    own = f"t{transition.number}"
    takes = [(f"p{take.place}", own, take.count, "") for take in transition.takes]
    puts = [
        (own, f"p{place}", amount, "")
        for place, amount in constant_amounts(transition, net) or ()
        if amount > 0
    ]
    limits = [(f"p{place}", own, weight, "inhibitor") for place, weight in transition.inhibitors]
    limits += [(f"p{place}", own, 1, "reset") for place in transition.resets]
    for number, (source, target, weight, kind) in enumerate([*takes, *puts, *limits]):
        name = f"a{transition.number}_{number}"
        arc = ElementTree.SubElement(page, "arc", id=name, source=source, target=target)
        if weight != 1:
            _label(arc, "inscription", str(weight))
        if kind:
            ElementTree.SubElement(arc, "type", value=kind)


def _label(parent: ElementTree.Element, tag: str, text: str) -> None:
    label = ElementTree.SubElement(parent, tag)
    ElementTree.SubElement(label, "text").text = text
