"""A directed graph in rows, and its strongly connected components.

Tarjan's algorithm is written without recursion, so that a graph may have any depth.
"""

import functools
from array import array
from collections.abc import Sequence


class Graph:
    """A graph. The edges of node n are `targets[offsets[n]:offsets[n + 1]]`.

    Nodes without a row have no edges.
    """

    def __init__(self, offsets: Sequence[int], targets: "array[int]", nodes: int) -> None:
        self.offsets = offsets
        self.targets = targets
        self.nodes = nodes

    def edges_of(self, node: int) -> range:
        if node + 1 >= len(self.offsets):
            return range(0)
        return range(self.offsets[node], self.offsets[node + 1])

    def leaves(self) -> list[int]:
        """The nodes without outgoing edges."""
        return [node for node in range(self.nodes) if not self.edges_of(node)]

    @functools.cached_property
    def components(self) -> list[int]:
        """The component of each node. Edges between components lead to lower numbers."""
        order, low = [0] * self.nodes, [0] * self.nodes
        found = [-1] * self.nodes
        stack: list[int] = []
        counter = components = 0
        for root in range(self.nodes):
            if order[root]:
                continue
            path = [(root, iter(self.edges_of(root)))]
            counter += 1
            order[root] = low[root] = counter
            stack.append(root)
            while path:
                node, edges = path[-1]
                for at in edges:
                    other = self.targets[at]
                    if not order[other]:
                        counter += 1
                        order[other] = low[other] = counter
                        stack.append(other)
                        path.append((other, iter(self.edges_of(other))))
                        break
                    if found[other] < 0 and order[other] < low[node]:
                        low[node] = order[other]
                else:
                    path.pop()
                    if path and low[node] < low[path[-1][0]]:
                        low[path[-1][0]] = low[node]
                    if low[node] == order[node]:
                        components = _closed(stack, node, found, components)
        return found

    def last_components(self) -> set[int]:
        """The components without outgoing edges; what happens there happens for ever."""
        left = set()
        components = self.components
        for node in range(self.nodes):
            own = components[node]
            if own not in left and any(
                components[self.targets[at]] != own for at in self.edges_of(node)
            ):
                left.add(own)
        return set(components) - left


def _closed(stack: list[int], node: int, found: list[int], number: int) -> int:
    while True:
        member = stack.pop()
        found[member] = number
        if member == node:
            return number + 1
