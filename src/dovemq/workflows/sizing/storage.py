"""The scheduler of the store: how many nodes its bytes need. It is pure.

Nodes are added when the store is fuller than allowed, and no more before the cool-down has passed,
since a new node takes long to get its share. Nodes are never removed: a node must be emptied by
the database's own tools first. If fewer would do, the decision says so.
"""

import math
from typing import Final

from msgspec import Struct

from dovemq.core.errors import InvariantError
from dovemq.workflows.sizing.decisions import SizingCause, SizingDecision

STORE: Final = "store"
NODES_MAX: Final = 1_000
_GIB: Final = 1 << 30


class StorageSettings(Struct, frozen=True):
    """`node_bytes` is the disk of a node, `copies` the number of nodes that have each message.

    The store is full above `fill_max`. Fewer nodes would do if these were not fuller than
    `fill_max` · (1 − `hysteresis`). `overhead` is what a stored byte takes on disk.
    """

    node_bytes: int
    copies: int = 1
    fill_max: float = 0.7
    hysteresis: float = 0.3
    overhead: float = 2.0
    least: int = 1
    most: int = NODES_MAX
    cool_down_ms: int = 600_000

    def __post_init__(self) -> None:
        if self.node_bytes < 1 or not 0.0 < self.fill_max <= 1.0 or self.overhead < 1.0:
            raise InvariantError("A store needs nodes with bytes, a fill up to 1, an overhead.")
        if not 1 <= self.least <= self.most <= NODES_MAX or not 0.0 <= self.hysteresis < 1.0:
            raise InvariantError(f"The bounds of nodes are {self.least} and {self.most}.")


def decide_storage(
    now_ms: int, stored: int, nodes: int, grown_ms: int | None, settings: StorageSettings
) -> SizingDecision:
    """Decides on nodes for the stored bytes; `grown_ms` is when nodes were added last."""
    disk = stored * settings.overhead * settings.copies
    fill = disk / (nodes * settings.node_bytes) if nodes else math.inf
    needed = _nodes(disk, settings, settings.fill_max)
    enough = _nodes(disk, settings, settings.fill_max * (1.0 - settings.hysteresis))
    told = f"{disk / _GIB:.3g} GiB on {nodes} nodes fill them by {fill:.0%}"
    after, cause = nodes, SizingCause.IN_BAND
    if needed > nodes:
        left_ms = 0 if grown_ms is None else grown_ms + settings.cool_down_ms - now_ms
        reason = f"{told}, more than {settings.fill_max:.0%}"
        if left_ms > 0:
            cause = SizingCause.COOLING_DOWN
            reason += f"; nodes were added less than the cool-down ago, {left_ms // 1_000} s left"
        else:
            cause, after = SizingCause.FULL, needed
    elif enough < nodes:
        cause = SizingCause.CALM
        reason = f"{told}; {enough} would do, and nodes are removed by hand, once they are empty"
    else:
        reason = f"{told}, which is acceptable"
    missing = _wanted(disk, settings, settings.fill_max) - max(after, settings.most)
    if missing > 0:
        reason += f"; {missing} more are needed than the {settings.most} allowed"
    return SizingDecision(
        now_ms,
        cause,
        {STORE: nodes},
        {STORE: after},
        None,
        None,
        None,
        reason,
        missing={STORE: missing} if missing > 0 else {},
    )


def _wanted(disk: float, settings: StorageSettings, fill: float) -> int:
    return max(math.ceil(disk / (settings.node_bytes * fill)), settings.copies)


def _nodes(disk: float, settings: StorageSettings, fill: float) -> int:
    return min(max(_wanted(disk, settings, fill), settings.least), settings.most)
