"""Where the nodes of a page stand when nobody has said so: layers from left to right.

Owns the placing: layers by the longest way from a source, order within a layer by the neighbours.
Refuses to move a node that has a position.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dovemq.models.petri.nets import Net, Page

STEP_X: Final = 230.0
STEP_Y: Final = 120.0
SWEEPS: Final = 8

Point = tuple[float, float]
Edge = tuple[str, str]


def edges_of(net: Net, page: Page) -> list[Edge]:
    """Arcs, and for substitutions the ways that the ports allow."""
    found: list[Edge] = []
    for arc in page.arcs:
        found.append(arc.ends)
    for below in page.substitutions.values():
        for port, socket in below.sockets.items():
            direction = net.pages[below.page].places[port].port
            if direction != "out":
                found.append((socket, below.name))
            if direction != "in":
                found.append((below.name, socket))
    return list(dict.fromkeys(found))


def positions(net: Net, page: Page) -> dict[str, Point]:
    nodes: dict[str, Point | None] = {name: each.position for name, each in page.places.items()}
    nodes |= {name: each.position for name, each in page.transitions.items()}
    nodes |= {name: each.position for name, each in page.substitutions.items()}
    given = {name: point for name, point in nodes.items() if point is not None}
    if len(given) == len(nodes):
        return given
    return {**_layered(list(nodes), edges_of(net, page)), **given}


def _layered(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, Point]:
    forward = _without_cycles(nodes, edges)
    layer = dict.fromkeys(nodes, 0)
    for _ in nodes:
        changed = False
        for source, target in forward:
            if layer[target] <= layer[source]:
                layer[target] = layer[source] + 1
                changed = True
        if not changed:
            break
    rows: dict[int, list[str]] = {}
    for node in nodes:
        rows.setdefault(layer[node], []).append(node)
    for sweep in range(SWEEPS):
        _sort_by_neighbours(rows, edges, upwards=bool(sweep % 2))
    return _points(rows)


def _without_cycles(nodes: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """Edges back to a node that is on the way are left out (depth first, no recursion)."""
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        after[source].append(target)
    kept: list[Edge] = []
    state = dict.fromkeys(nodes, 0)
    for root in nodes:
        if state[root]:
            continue
        state[root] = 1
        path = [(root, iter(after[root]))]
        while path:
            node, rest = path[-1]
            for other in rest:
                if state[other] != 1:
                    kept.append((node, other))
                if state[other] == 0:
                    state[other] = 1
                    path.append((other, iter(after[other])))
                    break
            else:
                state[node] = 2
                path.pop()
    return kept


def _sort_by_neighbours(
    rows: dict[int, list[str]], edges: Sequence[Edge], *, upwards: bool
) -> None:
    near: dict[str, list[str]] = {}
    for source, target in edges:
        near.setdefault(source, []).append(target)
        near.setdefault(target, []).append(source)
    height = {node: float(at) for row in rows.values() for at, node in enumerate(row)}

    def middle(node: str) -> float:
        others = near.get(node, [])
        return sum(height[other] for other in others) / len(others) if others else height[node]

    for number in sorted(rows, reverse=upwards):
        rows[number].sort(key=middle)
        height |= {node: float(at) for at, node in enumerate(rows[number])}


def _points(rows: Mapping[int, Sequence[str]]) -> dict[str, Point]:
    most = max((len(row) for row in rows.values()), default=1)
    found = {}
    for number, row in rows.items():
        top = (most - len(row)) / 2
        for at, node in enumerate(row):
            found[node] = ((number + 0.5) * STEP_X, (top + at + 0.5) * STEP_Y)
    return found
