"""Queues, accounts and move tasks in memory, and every read of them.

Both stores answer reads from here; each adds its own writes. Sorted when asked: catalogues are
small beside messages.
"""

from collections.abc import Callable, Iterable
from typing import Final

from dovemq.core.accounts import Account
from dovemq.core.commands import Move, MoveStatus
from dovemq.core.queue import Queue, QueueKey

FINISHED_MOVES_MAX: Final = 10
_UNFINISHED: Final = (MoveStatus.RUNNING, MoveStatus.CANCELLING)


class CatalogueReads:
    """`check_open` raises when the store is closed."""

    def __init__(
        self,
        check_open: Callable[[], None],
        queues: Iterable[Queue] = (),
        moves: Iterable[Move] = (),
        accounts: Iterable[Account] = (),
    ) -> None:
        self._check_open = check_open
        self._queues = {queue.key: queue for queue in queues}
        self._moves = {move.move_id: move for move in moves}
        self._accounts = {account.number: account for account in accounts}

    async def find(self, key: QueueKey) -> Queue | None:
        self._check_open()
        return self._queues.get(key)

    async def latest(self, key: QueueKey) -> Queue | None:
        return await self.find(key)

    async def page(
        self, account: str | None, prefix: str, after: str, count_max: int
    ) -> list[Queue]:
        self._check_open()
        last_key = QueueKey.parse(after)
        matching = sorted(
            key
            for key in self._queues
            if account in (None, key.account) and key.name.startswith(prefix) and key > last_key
        )
        return [self._queues[key] for key in matching[:count_max]]

    async def sources(self, target: QueueKey) -> list[Queue]:
        self._check_open()
        return [
            queue
            for _, queue in sorted(self._queues.items())
            if queue.settings.redrive and queue.settings.redrive.target == target
        ]

    async def moves(self, source: QueueKey | None = None) -> list[Move]:
        self._check_open()
        return self._moves_of(None if source is None else str(source))

    async def accounts(self) -> list[Account]:
        self._check_open()
        return sorted(self._accounts.values(), key=lambda account: account.number)

    def holds(self, queue: Queue) -> bool:
        """Whether the queue is there and is not a later one of the same name."""
        held = self._queues.get(queue.key)
        return held is not None and held.number == queue.number

    def all_queues(self) -> list[Queue]:
        return list(self._queues.values())

    def _moves_of(self, source: str | None) -> list[Move]:
        """Newest first."""
        found = [move for move in self._moves.values() if source in (None, move.source)]
        return sorted(found, key=lambda move: -move.started_ms)

    def _surplus_moves(self, saved: Move) -> list[str]:
        """Ids of finished moves that are too many once this one is saved."""
        after = {**self._moves, saved.move_id: saved}.values()
        finished = [
            move for move in after if move.source == saved.source and move.status not in _UNFINISHED
        ]
        finished.sort(key=lambda move: -move.started_ms)
        return [move.move_id for move in finished[FINISHED_MOVES_MAX:]]
