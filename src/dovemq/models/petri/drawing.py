"""Pages as SVG: places with their tokens, transitions, arcs with their expressions.

    page_svg(net, "Broker")                       with the initial marking
    page_svg(net, "Broker", path="cloud_queue.Broker", markings=simulation.markings())

Positions come from `layout.py`, lines and spots for labels from `routing.py`. This module never
runs a net: the caller provides the tokens.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Final

from dovemq.models.petri.checking import CheckedNet, checked
from dovemq.models.petri.errors import NetInvalid
from dovemq.models.petri.hierarchy import instances
from dovemq.models.petri.layout import (
    CHARACTER,
    LABEL_LENGTH_MAX,
    PLACE_HALF_HEIGHT,
    TRANSITION_HALF_HEIGHT,
    Edge,
    Point,
    half_width,
    labelled_edges,
    positions,
    short,
)
from dovemq.models.petri.multisets import Multiset
from dovemq.models.petri.nets import PRIORITY_NORMAL, Net, Page, Place
from dovemq.models.petri.routing import Box, Labels, Router

TOKENS_LENGTH_MAX: Final = 34
LINE: Final = 11.0
"""Height of a line of small text."""
MARGIN: Final = 16.0
CORNER: Final = 24.0
"""Radius of the bends of arcs."""
PAIR: Final = 18.0
"""The distance between two arcs that join the same nodes in both directions."""
STYLE: Final = """
text{font:11px sans-serif;text-anchor:middle;fill:#222}
.place{fill:#fff;stroke:#2b5d8a;stroke-width:1.5}
.transition{fill:#f4f1ea;stroke:#444;stroke-width:1.5}
.arc{fill:none;stroke:#666;stroke-width:1}
.inscription,.guard,.halo{font-size:9.5px}.inscription{fill:#555}.guard{fill:#8a4b08}
.halo{fill:#fff;stroke:#fff;stroke-width:3px}
.colour{font-size:9px;fill:#2b5d8a;font-style:italic}
.tag{font-size:8.5px;fill:#fff}.port{fill:#2b5d8a}.fusion{fill:#7a3f8f}.page{fill:#444}
.badge{fill:#2e7d32}.count{font-size:10px;fill:#fff}
.tokens{font-size:9px;fill:#2e7d32}
.fired{fill:#ffd54f}
"""


def page_svg(
    net: Net | CheckedNet,
    page: str,
    *,
    path: str | None = None,
    markings: Mapping[str, Multiset] | None = None,
) -> str:
    """Draws a page. `path` selects one instance of a page that has several."""
    whole = checked(net)
    if page not in whole.net.pages:
        raise NetInvalid(whole.net.where, f"no page is named {page!r}")
    if path is None:
        path = next((each.path for each in instances(whole.net) if each.page.name == page), "")
    if markings is None:
        markings = {place.name: place.initial for place in whole.places}
    return _Drawing(whole, whole.net.pages[page], path, markings).svg()


def hierarchy_svg(net: Net) -> str:
    """Draws the tree of pages."""
    checked(net)
    parts = []
    boxes = []
    last: dict[int, float] = {}
    for number, (depth, page, name) in enumerate(_tree(net, net.root_page, "", 0)):
        x, y = depth * 170.0, number * 60.0
        if depth:
            parts.append(f'<path class="arc" d="M{x - 170} {last[depth - 1] + 18}V{y}H{x - 60}"/>')
        last[depth] = y
        boxes.append(Box.around((x, y), half_width(page), 30))
        parts += [_rectangle(x, y, page, "transition"), _text(x, y + 4, page)]
        if name:
            parts.append(_text(x, y - 24, name, "inscription"))
    return _svg(boxes, "".join(parts))


def _tree(net: Net, page: str, name: str, depth: int) -> Iterator[tuple[int, str, str]]:
    yield depth, page, name
    for below in net.pages[page].substitutions.values():
        yield from _tree(net, below.page, below.name, depth + 1)


@dataclass(slots=True)
class _Drawing:
    _net: CheckedNet
    _page: Page
    _path: str
    _markings: Mapping[str, Multiset]
    _points: dict[str, Point] = field(init=False)
    _boxes: dict[str, Box] = field(init=False)
    _taken: list[Box] = field(init=False)

    def __post_init__(self) -> None:
        self._points = positions(self._net.net, self._page)
        self._boxes = {name: self._box(name) for name in self._points}
        self._taken = list(self._boxes.values())

    def _box(self, name: str) -> Box:
        half = PLACE_HALF_HEIGHT if name in self._page.places else TRANSITION_HALF_HEIGHT
        return Box.around(self._points[name], half_width(name), half)

    def svg(self) -> str:
        nodes = [*map(self._place, self._page.places)]
        nodes += map(self._transition, self._page.transitions)
        nodes += map(self._substitution, self._page.substitutions)
        edges = labelled_edges(self._net.net, self._page)
        router = Router(self._boxes)
        lines = [
            self._clipped(source, target, router.line(source, target), (target, source) in edges)
            for source, target in edges
        ]
        arcs = [
            f'<path class="arc" marker-end="url(#{self._head(edge)})" d="{_curve(line)}"/>'
            for edge, line in zip(edges, lines, strict=True)
        ]
        labels = Labels(self._taken, lines)
        texts = [
            self._label(labels, line, texts)
            for line, texts in zip(lines, edges.values(), strict=True)
            if texts
        ]
        bends = [Box.around(point, 0, 0) for line in lines for point in line]
        return _svg([*labels.taken, *bends], "".join((*arcs, *nodes, *texts)))

    def _head(self, edge: Edge) -> str:
        """The end of a line: a ring if all its arcs are inhibitor arcs, else an arrow."""
        kinds = {arc.kind for arc in self._page.arcs if arc.ends == edge}
        return "ring" if kinds == {"inhibitor"} else "head"

    def _full(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _place(self, name: str) -> str:
        place, (x, y) = self._page.places[name], self._points[name]
        full, half = self._full(name), half_width(name)
        known = self._net.place(full) if full in self._net.number_of else None
        flat = known.name if known is not None else name
        bottom, top = y + PLACE_HALF_HEIGHT, y - PLACE_HALF_HEIGHT
        parts = [
            f'<ellipse class="place" cx="{x}" cy="{y}" rx="{half}" ry="{PLACE_HALF_HEIGHT}"/>',
            _text(x, y + 4, name),
            self._small(x + 34, bottom + LINE, place.colour + _capacity(place), "colour"),
        ]
        if place.port:
            parts.append(_tag(x - 30, bottom, place.port, "port"))
        if place.fusion:
            parts.append(_tag(x + (8 if place.port else -30), bottom, place.fusion, "fusion"))
        held = self._markings.get(flat, Multiset())
        shown = "" if held.size else ' visibility="hidden"'
        parts.append(
            f'<g class="held" data-place="{escape(flat, quote=True)}"{shown}>'
            f'<circle class="badge" cx="{x}" cy="{top}" r="9"/>'
            + _text(x, top + 3.5, str(held.size), "count")
            + _text(x, top - 12, tokens_text(held), "tokens")
            + "</g>"
        )
        # A player shows other tokens later, so space is reserved for the longest text.
        several = known is not None and not known.counted
        self._take(x, top - 12, TOKENS_LENGTH_MAX if several else len(tokens_text(held)))
        return "".join(parts)

    def _take(self, x: float, baseline: float, length: int) -> None:
        """Reserves the space of a text, so that no label covers it."""
        if length:
            middle = (x, baseline - 3)
            self._taken.append(Box.around(middle, length * CHARACTER / 2, LINE / 2))

    def _small(self, x: float, baseline: float, text: str, kind: str) -> str:
        self._take(x, baseline, len(text))
        return _text(x, baseline, text, kind)

    def _transition(self, name: str) -> str:
        transition, (x, y) = self._page.transitions[name], self._points[name]
        more = f' data-transition="{escape(self._full(name), quote=True)}"'
        parts = [_rectangle(x, y, name, "transition", more), _text(x, y + 4, name)]
        if transition.guard != "True":
            guard = short(f"[{transition.guard}]", LABEL_LENGTH_MAX)
            parts.append(self._small(x, y - TRANSITION_HALF_HEIGHT - 5, guard, "guard"))
        notes = [f"{variable} := {text}" for variable, text in transition.code.items()]
        if transition.delay != "0":
            notes.append(f"@+{transition.delay}")
        if transition.priority != PRIORITY_NORMAL:
            notes.append(f"priority {transition.priority}")
        for number, note in enumerate(notes, 1):
            below = y + TRANSITION_HALF_HEIGHT + LINE * number
            parts.append(self._small(x, below, short(note, LABEL_LENGTH_MAX), "guard"))
        return "".join(parts)

    def _substitution(self, name: str) -> str:
        page, (x, y) = self._page.substitutions[name].page, self._points[name]
        inner = _rectangle(x, y, name, "transition", inset=3)
        tag = _tag(x - 30, y + TRANSITION_HALF_HEIGHT, page, "page")
        return _rectangle(x, y, name, "transition") + inner + _text(x, y + 4, name) + tag

    def _clipped(
        self, source: str, target: str, line: list[Point], paired: bool
    ) -> Sequence[Point]:
        """The line from border to border; straight lines of a pair bend to different sides."""
        if paired and len(line) == 2:
            (x, y), (other_x, other_y) = line
            length = math.dist(*line) or 1.0
            across = ((y - other_y) / length * PAIR, (other_x - x) / length * PAIR)
            middle = ((x + other_x) / 2 + across[0], (y + other_y) / 2 + across[1])
            line = [line[0], middle, line[1]]
        return [
            self._border(source, line[1]),
            *line[1:-1],
            self._border(target, line[-2]),
        ]

    def _border(self, name: str, towards: Point) -> Point:
        """The point at which the line from a node towards a point leaves the node."""
        x, y = self._points[name]
        dx, dy = towards[0] - x, towards[1] - y
        if not dx and not dy:
            return x, y
        if name in self._page.places:
            scale = 1 / math.hypot(dx / half_width(name), dy / PLACE_HALF_HEIGHT)
        else:
            ratios = [(half_width(name), dx), (TRANSITION_HALF_HEIGHT, dy)]
            scale = min(half / abs(way) for half, way in ratios if way)
        return x + dx * scale, y + dy * scale

    @staticmethod
    def _label(labels: Labels, line: Sequence[Point], texts: Sequence[str]) -> str:
        width = CHARACTER * max(map(len, texts))
        box = labels.place(line, width, LINE * len(texts))
        x = (box.left + box.right) / 2
        return "".join(
            _text(x, box.top + LINE * number - 2.5, text, "inscription")
            for number, text in enumerate(texts, 1)
        )


def tokens_text(held: Multiset) -> str:
    """The values of the tokens; empty for plain tokens, of which the badge shows the number."""
    return "" if set(held) <= {()} else short(str(held), TOKENS_LENGTH_MAX)


def _capacity(place: Place) -> str:
    return "" if place.capacity is None else f", at most {place.capacity}"


def _curve(line: Sequence[Point]) -> str:
    """The path of a line whose bends are rounded."""
    parts = [f"M{line[0][0]:.1f} {line[0][1]:.1f}"]
    for (before, bend), (_, after) in pairwise(pairwise(line)):
        near, far = _towards(bend, before), _towards(bend, after)
        points = [f"{x:.1f} {y:.1f}" for x, y in (near, bend, far)]
        parts.append(f"L{points[0]}Q{points[1]} {points[2]}")
    return "".join(parts) + f"L{line[-1][0]:.1f} {line[-1][1]:.1f}"


def _towards(start: Point, end: Point) -> Point:
    length = math.dist(start, end) or 1.0
    share = min(CORNER, length / 2) / length
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _text(x: float, y: float, text: str, kind: str = "name") -> str:
    drawn = f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
    if kind not in ("inscription", "guard"):
        return drawn
    # A white copy beneath keeps the text readable where it crosses a line.
    return drawn.replace(f'class="{kind}"', 'class="halo"', 1) + drawn


def _rectangle(x: float, y: float, name: str, kind: str, more: str = "", inset: float = 0) -> str:
    half, high = half_width(name) - inset, TRANSITION_HALF_HEIGHT - inset
    return (
        f'<rect class="{kind}"{more} x="{x - half}" y="{y - high}" '
        f'width="{2 * half}" height="{2 * high}"/>'
    )


def _tag(x: float, y: float, text: str, kind: str) -> str:
    width = 8 + 5.2 * len(text)
    return (
        f'<rect class="{kind}" x="{x - width / 2:.1f}" y="{y - 6:.1f}" width="{width:.1f}" '
        f'height="12" rx="2"/>' + _text(x, y + 3, text, "tag")
    )


def _svg(boxes: Sequence[Box], inner: str) -> str:
    """The whole document, as large as what it shows; a browser shrinks it to the window."""
    left = min((box.left for box in boxes), default=0) - MARGIN
    top = min((box.top for box in boxes), default=0) - MARGIN
    width = max((box.right for box in boxes), default=0) - left + MARGIN
    height = max((box.bottom for box in boxes), default=0) - top + MARGIN
    arrow = (
        '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/></marker>'
        '<marker id="ring" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8">'
        '<circle cx="4" cy="4" r="3" fill="#fff" stroke="#666"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.0f} {top:.0f} {width:.0f} '
        f'{height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'style="max-width:100%;height:auto"><style>{STYLE}</style>'
        f"<defs>{arrow}</defs>{inner}</svg>\n"
    )
