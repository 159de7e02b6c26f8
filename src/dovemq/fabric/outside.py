"""How often a receive begins at the partitions of other front ends, so that none starves."""

from typing import Final

OUTSIDE_OFTEN: Final = 8
"""One of so many receives begins outside while that finds a backlog."""
OUTSIDE_SELDOM: Final = 64
"""One of so many begins there at least, however often that finds none. Each costs a passage over
the link, and mostly a second one for the deletes."""


class OutsideTurns:
    def __init__(self) -> None:
        self._every = OUTSIDE_OFTEN
        self._since = 0
        self._without = 0

    def begin(self) -> bool:
        """Whether the receive that begins now is one that begins outside."""
        self._since += 1
        if self._since < self._every:
            return False
        self._since = 0
        return True

    def looked(self, *, backlog: bool, partitions: int) -> None:
        """Whether a look at one of the `partitions` outside left messages there.

        Receives begin outside more seldom only when all of these were without a backlog in turn.
        """
        if backlog:
            self._every, self._without = OUTSIDE_OFTEN, 0
            return
        self._without += 1
        if self._without >= partitions:
            self._every, self._without = min(2 * self._every, OUTSIDE_SELDOM), 0
