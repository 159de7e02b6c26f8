"""SVG files as parts of an HTML page: without scripts, metadata and names that could clash."""

import re
from typing import Final
from xml.etree import ElementTree

SVG: Final = "http://www.w3.org/2000/svg"
XLINK: Final = "http://www.w3.org/1999/xlink"
_SHAPES: Final = frozenset(("path", "rect", "circle", "ellipse", "line", "polyline", "polygon"))
_TEXTS: Final = frozenset(("text", "tspan", "title"))
_PARTS: Final = frozenset(("svg", "g", "defs", "style", "clipPath", "use", "marker", "image"))
_LOCAL: Final = re.compile(r"url\(#([^)]+)\)")
_HREF: Final = ("href", f"{{{XLINK}}}href")


def inline_picture(svg: str, prefix: str) -> str:
    """The picture as an element of a page. Its ids get a prefix, since pages have many pictures."""
    root = ElementTree.fromstring(svg)
    _clean(root, prefix)
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element, prefix: str) -> None:
    for child in list(element):
        namespace, _, name = child.tag.rpartition("}")
        if namespace == f"{{{SVG}" and name in _SHAPES | _TEXTS | _PARTS:
            _clean(child, prefix)
        else:
            element.remove(child)
    for key, value in list(element.attrib.items()):
        if key.startswith("on") or (key in _HREF and not value.startswith(("#", "data:"))):
            del element.attrib[key]
        elif key == "id":
            element.set(key, f"{prefix}-{value}")
        elif key in _HREF and value.startswith("#"):
            element.set(key, f"#{prefix}-{value[1:]}")
        else:
            element.set(key, _LOCAL.sub(rf"url(#{prefix}-\1)", value))
