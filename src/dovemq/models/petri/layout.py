"""Positions for the nodes of a page that have none: layers from left to right.

Arcs point to the right where they can. An arc into a place that holds tokens at the start points
back, so that such a place comes before the transitions that take its tokens. Within a layer,
nodes are sorted by the mean height of their neighbours. The gap between two layers is as wide as
the longest label between them. A node with a position is never moved.
"""

import re
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final

from dovemq.models.petri.nets import Net, Page, Place, Substitution, Transition

GAP: Final = 90.0
"""Free width between two layers where no label needs more."""
STEP_Y: Final = 120.0
SWEEPS: Final = 8
HALF_WIDTH_MIN: Final = 56.0
PLACE_HALF_HEIGHT: Final = 24.0
TRANSITION_HALF_HEIGHT: Final = 18.0
CHARACTER: Final = 5.8
"""Width of a character of a label; texts are measured by their number of characters."""
LABEL_LENGTH_MAX: Final = 44
WEIGHT: Final = re.compile(r"times\((\d+), \(\)\)")

Point = tuple[float, float]
Edge = tuple[str, str]


def short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def half_width(name: str) -> float:
    """Half the width of the node of this name, wide enough for the name."""
    return max(HALF_WIDTH_MIN, 3.4 * len(name) + 10)


def labelled_edges(net: Net, page: Page) -> dict[Edge, list[str]]:
    """The arcs of a page with their labels, and the directions that sockets allow."""
    found: dict[Edge, list[str]] = {}
    for arc in page.arcs:
        # Plain tokens are shown by their number, a single one by nothing.
        text = WEIGHT.sub(r"\1", arc.expression)
        text = "" if arc.expression in ("()", "times(1, ())") else text
        if arc.kind != "normal":
            text = f"< {text}" if arc.kind == "inhibitor" else "reset"
        delay = f" @+{arc.delay}" if arc.delay != "0" else ""
        label = short(f"{text}{delay}".strip(), LABEL_LENGTH_MAX)
        found.setdefault(arc.ends, []).extend([label] if label else [])
    for below in page.substitutions.values():
        for port, socket in below.sockets.items():
            direction = net.pages[below.page].places[port].port
            if direction != "out":
                found.setdefault((socket, below.name), [])
            if direction != "in":
                found.setdefault((below.name, socket), [])
    return found


def positions(net: Net, page: Page) -> dict[str, Point]:
    nodes: dict[str, Place | Transition | Substitution] = {
        **page.places,
        **page.transitions,
        **page.substitutions,
    }
    given = {name: node.position for name, node in nodes.items() if node.position is not None}
    if len(given) == len(nodes):
        return given
    edges = labelled_edges(net, page)
    marked = {
        name for name, node in nodes.items() if isinstance(node, Place) and node.initial != "none"
    }
    forward = [(source, target) for source, target in edges if target not in marked]
    layers = _layers(list(nodes), forward)
    rows: dict[int, list[str]] = {}
    for node in nodes:
        rows.setdefault(layers[node], []).append(node)
    heights = _heights(rows, list(edges))
    lefts = _middles(rows, layers, edges)
    return {node: (lefts[layers[node]], heights[node]) for node in nodes} | given


def _layers(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """The longest way from a source to each node; a cycle is cut at its first node."""
    before: dict[str, list[str]] = {node: [] for node in nodes}
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    number = {node: at for at, node in enumerate(nodes)}
    order: list[str] = []
    while not order:  # Each round that finds a cycle removes one of the edges.
        try:
            order = list(TopologicalSorter(before).static_order())
        except CycleError as error:
            source, target = min(pairwise(error.args[1]), key=lambda edge: number[edge[1]])
            before[target].remove(source)
            after[source].remove(target)
    layer: dict[str, int] = {}
    for node in order:
        layer[node] = max((layer[other] + 1 for other in before[node]), default=0)
    for node in nodes:
        if not before[node] and after[node]:
            layer[node] = min(layer[other] for other in after[node]) - 1
    return layer


def _heights(rows: Mapping[int, list[str]], edges: Sequence[Edge]) -> dict[str, float]:
    near: dict[str, list[str]] = {}
    for source, target in edges:
        near.setdefault(source, []).append(target)
        near.setdefault(target, []).append(source)
    height = {node: at * STEP_Y for row in rows.values() for at, node in enumerate(row)}

    def wanted(node: str) -> float:
        others = near.get(node, [node])
        return sum(height[other] for other in others) / len(others)

    for sweep in range(SWEEPS):
        for number in sorted(rows, reverse=bool(sweep % 2)):
            middles = {node: wanted(node) for node in rows[number]}
            rows[number].sort(key=middles.__getitem__)
            # The nodes of a layer keep their distance and share the error of what they want.
            mean = sum(middles.values()) / len(middles)
            top = round((mean - (len(middles) - 1) * STEP_Y / 2) * 2 / STEP_Y) * STEP_Y / 2
            height |= {node: top + at * STEP_Y for at, node in enumerate(rows[number])}
    return height


def _middles(
    rows: Mapping[int, Sequence[str]],
    layers: Mapping[str, int],
    edges: Mapping[Edge, Sequence[str]],
) -> dict[int, float]:
    """The horizontal middle of each layer."""
    gaps: dict[int, float] = {}
    for (source, target), labels in edges.items():
        left, right = sorted((layers[source], layers[target]))
        if right - left == 1:
            width = CHARACTER * max(map(len, labels), default=0) + 30
            gaps[left] = max(gaps.get(left, GAP), width)
    found: dict[int, float] = {}
    x = 0.0
    for number in sorted(rows):
        half = max(map(half_width, rows[number]))
        x += half
        found[number] = x
        x += half + gaps.get(number, GAP)
    return found
