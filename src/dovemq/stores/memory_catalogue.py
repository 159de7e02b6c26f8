"""Queues, accounts and move tasks of the store in memory: dicts, sorted when asked."""

from collections.abc import Callable
from typing import Final

import msgspec

from dovemq.core.accounts import Account
from dovemq.core.commands import Move, MoveStatus
from dovemq.core.errors import Draining
from dovemq.core.queue import Queue, QueueKey

FINISHED_MOVES_MAX: Final = 10
_UNFINISHED: Final = (MoveStatus.RUNNING, MoveStatus.CANCELLING)


class MemoryCatalogue:
    def __init__(self, removed: Callable[[Queue], None]) -> None:
        self._removed = removed
        self._queues: dict[QueueKey, Queue] = {}
        self._moves: dict[str, Move] = {}
        self._accounts: dict[str, Account] = {}
        self._last_number = 0
        self._closed = False

    async def create(self, queue: Queue) -> Queue:
        self._check_open()
        if queue.key not in self._queues:
            self._last_number += 1
            created = msgspec.structs.replace(queue, number=self._last_number)
            self._queues[queue.key] = created
        return self._queues[queue.key]

    async def find(self, key: QueueKey) -> Queue | None:
        self._check_open()
        return self._queues.get(key)

    async def replace(self, queue: Queue) -> bool:
        self._check_open()
        if not self.holds(queue) or self._queues[queue.key].version != queue.version:
            return False
        self._queues[queue.key] = msgspec.structs.replace(queue, version=queue.version + 1)
        return True

    async def remove(self, key: QueueKey) -> bool:
        self._check_open()
        queue = self._queues.pop(key, None)
        if queue is None:
            return False
        self._moves = {
            move_id: move for move_id, move in self._moves.items() if move.source != str(key)
        }
        self._removed(queue)
        return True

    async def page(
        self, account: str | None, prefix: str, after: str, count_max: int
    ) -> list[Queue]:
        self._check_open()
        last_key = QueueKey.parse(after)
        matching = [
            queue
            for key, queue in sorted(self._queues.items())
            if account in (None, key.account) and key.name.startswith(prefix) and key > last_key
        ]
        return matching[:count_max]

    async def sources(self, target: QueueKey) -> list[Queue]:
        self._check_open()
        return [
            queue
            for _, queue in sorted(self._queues.items())
            if queue.settings.redrive and queue.settings.redrive.target == target
        ]

    async def save_move(self, move: Move) -> None:
        self._check_open()
        self._moves[move.move_id] = move
        finished = [
            other for other in self._moves_of(move.source) if other.status not in _UNFINISHED
        ]
        for forgotten in finished[FINISHED_MOVES_MAX:]:
            del self._moves[forgotten.move_id]

    async def moves(self, source: QueueKey | None = None) -> list[Move]:
        self._check_open()
        return self._moves_of(None if source is None else str(source))

    async def accounts(self) -> list[Account]:
        self._check_open()
        return sorted(self._accounts.values(), key=lambda account: account.number)

    async def save_account(self, account: Account) -> bool:
        self._check_open()
        held = self._accounts.get(account.number)
        others = [other for other in self._accounts.values() if other.number != account.number]
        if (held.version if held else 0) != account.version:
            return False
        if any(other.name == account.name for other in others):
            return False
        saved = msgspec.structs.replace(account, version=account.version + 1)
        self._accounts[account.number] = saved
        return True

    async def remove_account(self, number: str) -> bool:
        self._check_open()
        if any(key.account == number for key in self._queues):
            return False
        return self._accounts.pop(number, None) is not None

    def holds(self, queue: Queue) -> bool:
        """Whether the queue is there and is not a later one of the same name."""
        held = self._queues.get(queue.key)
        return held is not None and held.number == queue.number

    def close(self) -> None:
        self._closed = True

    def _moves_of(self, source: str | None) -> list[Move]:
        newest_first = sorted(self._moves.values(), key=lambda move: -move.started_ms)
        return [move for move in newest_first if source in (None, move.source)]

    def _check_open(self) -> None:
        if self._closed:
            raise Draining()
