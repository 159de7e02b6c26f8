"""Pages as SVG: places with their tokens, transitions, arcs with their expressions.

    page_svg(net, "Broker")                       with the initial marking
    page_svg(net, "Broker", path="cloud_queue.Broker", markings=simulation.markings())

Owns the look. Refuses to run a net: tokens are those that it is given.
"""

import math
from collections.abc import Mapping
from html import escape
from typing import Final

from dovemq.models.petri.checking import CheckedNet, checked
from dovemq.models.petri.errors import NetInvalid
from dovemq.models.petri.layout import Point, edges_of, positions
from dovemq.models.petri.multisets import Multiset
from dovemq.models.petri.nets import PRIORITY_NORMAL, Net, Page

PLACE_X: Final = 58.0
PLACE_Y: Final = 24.0
TRANSITION_X: Final = 56.0
TRANSITION_Y: Final = 18.0
TOKENS_LENGTH_MAX: Final = 34
LABEL_LENGTH_MAX: Final = 44
MARGIN: Final = 60.0
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
.tokens{font-size:9px;fill:#2e7d32;text-anchor:start}
.fired{fill:#ffd54f}
"""


def page_svg(
    net: Net | CheckedNet,
    page: str,
    *,
    path: str | None = None,
    markings: Mapping[str, Multiset] | None = None,
) -> str:
    """`path` says which instance of the page is meant where there are several."""
    whole = checked(net)
    if page not in whole.net.pages:
        raise NetInvalid(whole.net.where, f"no page is named {page!r}")
    if path is None:
        path = instances(whole.net).get(page, [""])[0]
    if markings is None:
        markings = {place.name: place.initial for place in whole.places}
    return _Drawing(whole, whole.net.pages[page], path, markings).svg()


def instances(net: Net) -> dict[str, list[str]]:
    """The paths at which each page stands; the root's is empty."""
    found: dict[str, list[str]] = {}
    waiting = [(net.root_page, "")]
    while waiting:
        name, path = waiting.pop(0)
        found.setdefault(name, []).append(path)
        for below in net.pages[name].substitutions.values():
            waiting.append((below.page, f"{path}.{below.name}" if path else below.name))
    return found


def hierarchy_svg(net: Net) -> str:
    """The tree of pages."""
    checked(net)
    rows: list[tuple[int, str, str]] = []
    waiting = [(0, net.root_page, "")]
    while waiting:
        depth, page, name = waiting.pop()
        rows.append((depth, page, name))
        for below in reversed(net.pages[page].substitutions.values()):
            waiting.append((depth + 1, below.page, below.name))
    parts = []
    last: dict[int, float] = {}
    for number, (depth, page, name) in enumerate(rows):
        x, y = 100 + depth * 170.0, 40 + number * 60.0
        if depth:
            parts.append(f'<path class="arc" d="M{x - 170} {last[depth - 1] + 18}V{y}H{x - 60}"/>')
        last[depth] = y
        parts.append(_box(x, y, "transition"))
        parts.append(_text(x, y + 4, page))
        if name:
            parts.append(_text(x, y - 24, name, "inscription"))
    width = 200 + 170.0 * max(depth for depth, _, _ in rows)
    return _svg(0, 0, width, 60.0 * len(rows) + 20, "".join(parts))


def short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


class _Drawing:
    def __init__(
        self, net: CheckedNet, page: Page, path: str, markings: Mapping[str, Multiset]
    ) -> None:
        self._net = net
        self._page = page
        self._path = path
        self._markings = markings
        self._points = positions(net.net, page)

    def svg(self) -> str:
        lines, labels = self._arcs()
        parts = [*lines, *map(self._place, self._page.places)]
        parts += [*map(self._transition, self._page.transitions)]
        parts += [*map(self._substitution, self._page.substitutions), *labels]
        xs, ys = [x for x, _ in self._points.values()], [y for _, y in self._points.values()]
        left, top = min(xs, default=0) - MARGIN - PLACE_X, min(ys, default=0) - MARGIN
        width = max(xs, default=0) - left + MARGIN + PLACE_X
        return _svg(left, top, width, max(ys, default=0) - top + MARGIN, "".join(parts))

    def _full(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _place(self, name: str) -> str:
        place, (x, y) = self._page.places[name], self._points[name]
        flat = self._net.place(self._full(name)).name if self._known(name) else name
        parts = [
            f'<ellipse class="place" cx="{x}" cy="{y}" rx="{PLACE_X}" ry="{PLACE_Y}"/>',
            _text(x, y + 4, name),
            _text(x + PLACE_X, y + PLACE_Y + 10, place.colour, "colour"),
        ]
        if place.port:
            parts.append(_tag(x - 30, y + PLACE_Y, place.port, "port"))
        if place.fusion:
            parts.append(_tag(x + 8, y + PLACE_Y, place.fusion, "fusion"))
        held = self._markings.get(flat, Multiset())
        shown = "" if held.size else ' visibility="hidden"'
        parts.append(
            f'<g class="held" data-place="{escape(flat, quote=True)}"{shown}>'
            f'<circle class="badge" cx="{x + PLACE_X - 8}" cy="{y - PLACE_Y + 2}" r="9"/>'
            + _text(x + PLACE_X - 8, y - PLACE_Y + 5.5, str(held.size), "count")
            + _text(x + PLACE_X + 4, y - PLACE_Y + 5, tokens_text(held), "tokens")
            + "</g>"
        )
        return "".join(parts)

    def _known(self, name: str) -> bool:
        return self._full(name) in self._net.number_of

    def _transition(self, name: str) -> str:
        transition, (x, y) = self._page.transitions[name], self._points[name]
        full = escape(self._full(name), quote=True)
        parts = [_box(x, y, "transition", f' data-transition="{full}"'), _text(x, y + 4, name)]
        if transition.guard != "True":
            guard = short(f"[{transition.guard}]", LABEL_LENGTH_MAX)
            parts.append(_text(x, y - TRANSITION_Y - 5, guard, "guard"))
        notes = [f"{variable} := {text}" for variable, text in transition.code.items()]
        if transition.delay != "0":
            notes.append(f"@+{transition.delay}")
        if transition.priority != PRIORITY_NORMAL:
            notes.append(f"priority {transition.priority}")
        for number, note in enumerate(notes):
            below = y + TRANSITION_Y + 11 + 11 * number
            parts.append(_text(x, below, short(note, LABEL_LENGTH_MAX), "guard"))
        return "".join(parts)

    def _substitution(self, name: str) -> str:
        below, (x, y) = self._page.substitutions[name], self._points[name]
        inner = (
            f'<rect class="transition" x="{x - TRANSITION_X + 3}" y="{y - TRANSITION_Y + 3}" '
            f'width="{2 * TRANSITION_X - 6}" height="{2 * TRANSITION_Y - 6}"/>'
        )
        tag = _tag(x - 30, y + TRANSITION_Y, below.page, "page")
        return _box(x, y, "transition") + inner + _text(x, y + 4, name) + tag

    def _arcs(self) -> tuple[list[str], list[str]]:
        """Lines, which go beneath the nodes, and labels, which go above them."""
        edges = edges_of(self._net.net, self._page)
        labels: dict[tuple[str, str], list[str]] = {}
        for arc in self._page.arcs:
            delay = f" @+{arc.delay}" if arc.delay != "0" else ""
            text = "" if arc.expression == "()" else arc.expression
            labels.setdefault(arc.ends, []).append(short(text + delay, LABEL_LENGTH_MAX))
        drawn = [
            self._arc(source, target, labels.get((source, target), []), (target, source) in edges)
            for source, target in edges
        ]
        return [line for line, _ in drawn], [text for _, text in drawn]

    def _arc(self, source: str, target: str, labels: list[str], both: bool) -> tuple[str, str]:
        bend = 14.0 if both else 0.0
        start, end = self._points[source], self._points[target]
        middle = _beside((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, start, end, bend)
        from_x, from_y = self._edge(source, middle)
        to_x, to_y = self._edge(target, middle)
        curve = f"M{from_x:.1f} {from_y:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {to_x:.1f} {to_y:.1f}"
        drawn = f'<path class="arc" marker-end="url(#head)" d="{curve}"/>'
        spot = _beside((from_x + to_x) / 2, (from_y + to_y) / 2, start, end, bend * 0.9)
        texts = (
            _text(spot[0], spot[1] - 3 - 10 * at, label, "inscription")
            for at, label in enumerate(filter(None, labels))
        )
        return drawn, "".join(texts)

    def _edge(self, name: str, towards: Point) -> Point:
        """Where the line from a node towards a point leaves the node."""
        x, y = self._points[name]
        dx, dy = towards[0] - x, towards[1] - y
        if not dx and not dy:
            return x, y
        if name in self._page.places:
            scale = 1 / math.hypot(dx / PLACE_X, dy / PLACE_Y)
        else:
            ratios = [(TRANSITION_X, dx), (TRANSITION_Y, dy)]
            scale = min(half / abs(way) for half, way in ratios if way)
        return x + dx * scale, y + dy * scale


def tokens_text(held: Multiset) -> str:
    """Values of the tokens; the badge has told their number where they have none."""
    return "" if set(held) <= {()} else short(str(held), TOKENS_LENGTH_MAX)


def _beside(x: float, y: float, start: Point, end: Point, by: float) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    return x - dy / length * by, y + dx / length * by


def _text(x: float, y: float, text: str, kind: str = "name") -> str:
    drawn = f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
    if kind not in ("inscription", "guard"):
        return drawn
    # A pale copy beneath keeps the text readable where it crosses a line.
    return drawn.replace(f'class="{kind}"', 'class="halo"', 1) + drawn


def _box(x: float, y: float, kind: str, more: str = "") -> str:
    return (
        f'<rect class="{kind}"{more} x="{x - TRANSITION_X}" y="{y - TRANSITION_Y}" '
        f'width="{2 * TRANSITION_X}" height="{2 * TRANSITION_Y}"/>'
    )


def _tag(x: float, y: float, text: str, kind: str) -> str:
    width = 8 + 5.2 * len(text)
    return (
        f'<rect class="{kind}" x="{x - width / 2:.1f}" y="{y - 6:.1f}" width="{width:.1f}" '
        f'height="12" rx="2"/>' + _text(x, y + 3, text, "tag")
    )


def _svg(left: float, top: float, width: float, height: float, inner: str) -> str:
    arrow = (
        '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.0f} {top:.0f} {width:.0f} '
        f'{height:.0f}" width="{width:.0f}" height="{height:.0f}"><style>{STYLE}</style>'
        f"<defs>{arrow}</defs>{inner}</svg>\n"
    )
