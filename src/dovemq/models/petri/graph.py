"""A directed graph in rows, and its strongly connected components.

Only the components need numpy and scipy; a graph is built and read without them.
"""

import functools
from array import array


class Graph:
    """A graph. The edges of node n are `targets[offsets[n]:offsets[n + 1]]`.

    Nodes without a row have no edges.
    """

    def __init__(self, offsets: "array[int]", targets: "array[int]", nodes: int) -> None:
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
        """The number of the component of each node; every node needs a row."""
        import numpy as np
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        ones = np.ones(len(self.targets), dtype=bool)
        rows = csr_array((ones, self.targets, self.offsets), shape=(self.nodes, self.nodes))
        _, found = connected_components(rows, connection="strong")
        return found.tolist()  # type: ignore[no-any-return]

    def last_components(self) -> set[int]:
        """The components without outgoing edges; what happens there happens for ever."""
        own = self.components
        left = {
            own[node]
            for node in range(self.nodes)
            if any(own[self.targets[at]] != own[node] for at in self.edges_of(node))
        }
        return set(own) - left
