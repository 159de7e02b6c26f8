"""Queues, accounts and move tasks of the store in memory."""

from collections.abc import Callable

import msgspec

from dovemq.core.accounts import Account
from dovemq.core.commands import Move
from dovemq.core.queue import Queue, QueueKey
from dovemq.stores.catalogue import CatalogueReads


class MemoryCatalogue(CatalogueReads):
    """`removed` is called with a queue that is gone from the catalogue."""

    def __init__(self, check_open: Callable[[], None], removed: Callable[[Queue], None]) -> None:
        super().__init__(check_open)
        self._removed = removed
        self._last_number = 0

    async def create(self, queue: Queue) -> Queue:
        self._check_open()
        if queue.key not in self._queues:
            self._last_number += 1
            created = msgspec.structs.replace(queue, number=self._last_number)
            self._queues[queue.key] = created
        return self._queues[queue.key]

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

    async def save_move(self, move: Move) -> None:
        self._check_open()
        surplus = self._surplus_moves(move)
        self._moves[move.move_id] = move
        for move_id in surplus:
            del self._moves[move_id]

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
