"""The holder of a receipt settles its message, extends the lease, or gives it back.

A receipt names the tuple of its lease by sequence and end. After an `extend` it is elsewhere:
the front end that moved it remembers where, and the row of the body says it to the others. A settle
does not ask: it notes that the message is settled, and removes the tuple where the receipt says. A
tuple that is left elsewhere is removed when it becomes due, since the note is found then.
"""

import asyncio
from collections.abc import Sequence

from dovemq.core.commands import Extension, Receipt
from dovemq.core.drawing import IndexTuple, extended, released
from dovemq.stores.shared_index.buckets import bucket_of
from dovemq.stores.shared_index.memory import OwnDoings
from dovemq.stores.shared_index.moving import PlainMoves, TupleMove, TupleMoves, body_keep_ms
from dovemq.stores.shared_index.ports import FINAL, BodyRow, IndexTables, TupleKey


class ReceiptHolding:
    def __init__(
        self,
        tables: IndexTables,
        queue: int,
        moves: TupleMoves,
        plain: PlainMoves,
        own: OwnDoings,
    ) -> None:
        self._tables = tables
        self._queue = queue
        self._moves = moves
        self._plain = plain
        self._own = own

    async def settle(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        """Note and remove together: whichever comes first, the message is on its way out."""
        keys = []
        for receipt in receipts:
            if receipt.until_ms:
                keys.append(TupleKey(receipt.until_ms, receipt.sequence, FINAL))
            if moved := self._own.moved.pop(receipt.sequence):
                keys.append(TupleKey(moved.due_ms, receipt.sequence, FINAL))
        sequences = list({receipt.sequence for receipt in receipts})
        keep_ms = body_keep_ms(now_ms, now_ms)
        await asyncio.gather(
            self._tables.settle(self._queue, sequences, keep_ms), self._plain.remove_keys(keys)
        )
        for sequence in sequences:
            self._own.settled.put(sequence, None)

    async def extend(
        self, receipt: Receipt, lease_ms: int, now_ms: int, retention_ms: int
    ) -> Extension:
        if receipt.sequence in self._own.settled:
            return Extension.GONE
        rows, current = await asyncio.gather(
            self._tables.bodies(self._queue, [receipt.sequence]), self._at_receipt(receipt)
        )
        row = rows.get(receipt.sequence)
        if row is not None and row.settled:
            return Extension.GONE
        if current is None and row is not None:
            current = await self._at_note(receipt, row)
        if current is None or current.receive_count != receipt.receive_count:
            # Somebody else holds a newer lease. To show the message at once changes nothing then.
            if row is None and current is None:
                return Extension.GONE
            return Extension.STALE if lease_ms else Extension.EXTENDED
        if current.sent_ms + retention_ms <= now_ms:
            return Extension.GONE
        if current.due_ms <= now_ms and not lease_ms:
            return Extension.EXTENDED
        return await self._extended(current, lease_ms, now_ms)

    async def release(self, receipts: Sequence[Receipt], earliest_ms: int) -> None:
        """Undo leases of this front end that it remembers; others end by themselves."""
        known = [
            self._own.leases.pop((each.sequence, each.until_ms))
            for each in receipts
            if each.sequence not in self._own.settled and each.sequence not in self._own.moved
        ]
        moves = [
            TupleMove(after, released(after, before, earliest_ms))
            for before, after in filter(None, known)
            if await self._find(after.due_ms, after.sequence) == after
        ]
        if moves:
            await self._moves.change(moves)

    async def _extended(self, current: IndexTuple, lease_ms: int, now_ms: int) -> Extension:
        after = extended(current, lease_ms, now_ms)
        keep_ms = body_keep_ms(current.sent_ms, now_ms)
        # The note comes first: a note without its tuple is only a look in vain.
        await self._tables.note_move(self._queue, after.sequence, after, keep_ms)
        done = await self._moves.change([TupleMove(current, after)])
        if not done:
            return Extension.STALE
        self._own.moved.put(after.sequence, done[0].after)
        return Extension.EXTENDED

    async def _at_receipt(self, receipt: Receipt) -> IndexTuple | None:
        moved = self._own.moved.get(receipt.sequence)
        if moved is not None and moved.receive_count == receipt.receive_count:
            return await self._find(moved.due_ms, receipt.sequence)
        return await self._find(receipt.until_ms, receipt.sequence)

    async def _at_note(self, receipt: Receipt, row: BodyRow) -> IndexTuple | None:
        if not row.moved_ms or row.moved_count != receipt.receive_count:
            return None
        return await self._find(row.moved_ms, receipt.sequence)

    async def _find(self, due_ms: int, sequence: int) -> IndexTuple | None:
        return await self._tables.find(self._queue, bucket_of(due_ms), due_ms, sequence)
