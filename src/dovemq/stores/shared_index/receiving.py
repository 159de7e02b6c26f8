"""One receive: read the first tuples, draw, claim, and look at what was claimed.

The bodies are read while the claims are written. A claimed message may turn out to be settled,
which a second tuple of it did not say; or its body is not seen, since the replica that was asked
does not have it yet. The first kind is removed for good. The second is looked for on all replicas,
and put off if one of them does not answer: what is not seen is never taken for deleted.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from dovemq.core import choosing
from dovemq.core.commands import Ask
from dovemq.core.drawing import DrawnTuples, IndexDraw, IndexTuple, draw, extended, leased
from dovemq.core.errors import StoreUnreachable
from dovemq.core.message import Message
from dovemq.core.queue import QueueSettings
from dovemq.stores.owned.records import DamagedRecord, RecordCodec
from dovemq.stores.shared_index.buckets import Buckets
from dovemq.stores.shared_index.memory import OwnDoings
from dovemq.stores.shared_index.moving import PlainMoves, TupleMove, TupleMoves, body_keep_ms
from dovemq.stores.shared_index.ports import BodyRow, IndexTables
from dovemq.stores.shared_index.statistics import IndexStatistics
from dovemq.stores.shared_index.window import SharedWindow

LOOKS_MAX: Final = 4
"""Looks of one receive, while what it finds is taken by others or is gone."""
PUT_OFF_MS: Final = 5_000
"""The time after which a message that no replica showed is looked for again."""


class ClaimedMessage(Struct, frozen=True):
    """A message that was claimed, its lease as a tuple, and the tuple before."""

    message: Message
    before: IndexTuple
    after: IndexTuple
    exhausted: bool


class IndexReceiving:
    """The receives of one front end from one queue."""

    def __init__(
        self,
        tables: IndexTables,
        queue: int,
        buckets: Buckets,
        moves: TupleMoves,
        plain: PlainMoves,
        own: OwnDoings,
        now_ms: Callable[[], int],
        rng: random.Random,
        statistics: IndexStatistics,
    ) -> None:
        self._tables = tables
        self._queue = queue
        self._buckets = buckets
        self._moves = moves
        self._plain = plain
        self._own = own
        self._now_ms = now_ms
        self._rng = rng
        self._statistics = statistics
        self._codec = RecordCodec()
        self._window = SharedWindow(buckets, own)
        self.expired: Callable[[Sequence[IndexTuple]], None] = lambda _: None
        self.claimed: Callable[[Sequence[TupleMove]], None] = lambda _: None

    async def receive(
        self, ask: Ask, settings: QueueSettings, order_hint: int, now_ms: int
    ) -> tuple[list[ClaimedMessage], bool]:
        """The messages, and whether there may be more."""
        literal = settings.receive_draw == "literal"
        await self._buckets.refresh(self._now_ms)
        found: list[ClaimedMessage] = []
        more = False
        for _ in range(1 if literal else LOOKS_MAX):
            count = ask.count_max - sum(not each.exhausted for each in found)
            asked = IndexDraw(order_hint, count, ask.receives_max, settings.retention_ms, literal)
            drawn = draw(await self._look(asked, now_ms), asked, now_ms, self._rng)
            more = drawn.more
            wanted = len(drawn.taken) + len(drawn.exhausted)
            if drawn.expired:
                await self.remove(drawn.expired, now_ms)
                self.expired(drawn.expired)
            got = await self._claim(drawn, ask, now_ms)
            found += got
            # Another look only if something that was drawn is gone: others are faster, or it was
            # settled, or expired ones stood before the rest.
            if len(got) == wanted and not (drawn.expired and not wanted):
                break
            if len(found) >= ask.count_max:
                break
        return found, more

    async def remove(self, tuples: Sequence[IndexTuple], now_ms: int) -> None:
        """Remove messages for good."""
        if not tuples:
            return
        keep_ms = max(body_keep_ms(each.sent_ms, now_ms) for each in tuples)
        sequences = list({each.sequence for each in tuples})
        await self._tables.settle(self._queue, sequences, keep_ms)
        await self._plain.remove(tuples, final=True)
        for sequence in sequences:
            self._own.settled.put(sequence, None)

    def message(self, row: BodyRow) -> Message | None:
        """The message; None if its body is damaged."""
        if row.record is None or row.checksum is None:
            return None
        try:
            return self._codec.message((row.sequence, row.checksum, row.record))
        except DamagedRecord:
            return None

    async def _look(self, asked: IndexDraw, now_ms: int) -> list[IndexTuple]:
        """The first tuples of the window, without those that this front end knows as gone."""
        if asked.literal:
            return await self._buckets.first(asked.size, now_ms, hidden=True)
        read = await self._window.first(asked.size, asked.count, now_ms)
        # Other receives, which share the read, may have claimed some of it by now.
        return [each for each in read if not self._own.knows_as_gone(each)]

    async def _claim(self, drawn: DrawnTuples, ask: Ask, now_ms: int) -> list[ClaimedMessage]:
        """Claim what was drawn; what is left of it when its bodies have been seen."""
        spent = {each.sequence for each in drawn.exhausted}
        moves = []
        for each in (*drawn.taken, *drawn.exhausted):
            lease_ms = choosing.lease_length_ms(ask.lease_ms, spent=each.sequence in spent)
            moves.append(TupleMove(each, leased(each, lease_ms, now_ms)))
            self._own.claimed.put(each, None)
        if not moves:
            return []
        sequences = [move.before.sequence for move in moves]
        try:
            claims, rows = await asyncio.gather(
                self._moves.claim(moves), self._tables.bodies(self._queue, sequences)
            )
        except BaseException:
            for move in moves:
                self._own.claimed.pop(move.before)
            raise
        for each in claims.unclaimed:
            # Else no receive of this front end would ever look at it again.
            self._own.claimed.pop(each)
        self._statistics.claims += len(claims.won)
        return await self._sorted_out(claims.won, rows, spent, now_ms)

    async def _sorted_out(
        self, won: Sequence[TupleMove], rows: dict[int, BodyRow], spent: set[int], now_ms: int
    ) -> list[ClaimedMessage]:
        missing = [move.before.sequence for move in won if move.before.sequence not in rows]
        unseen: set[int] = set()
        if missing:
            try:
                rows |= await self._tables.bodies(self._queue, missing, sure=True)
            except StoreUnreachable:
                unseen = set(missing)
        received: list[ClaimedMessage] = []
        gone: list[TupleMove] = []
        put_off: list[TupleMove] = []
        for move in won:
            sequence = move.before.sequence
            if sequence in unseen:
                put_off.append(move)
                continue
            row = rows.get(sequence)
            message = None if row is None or row.settled else self.message(row)
            if message is None:
                gone.append(move)
                continue
            received.append(ClaimedMessage(message, move.before, move.after, sequence in spent))
        await self._set_aside(gone, put_off, now_ms)
        self.claimed([TupleMove(each.before, each.after) for each in received])
        return received

    async def _set_aside(
        self, gone: Sequence[TupleMove], put_off: Sequence[TupleMove], now_ms: int
    ) -> None:
        if gone:
            self._statistics.stale += len(gone)
            await self.remove([move.after for move in gone], now_ms)
            await self._plain.remove([move.before for move in gone], final=True)
        if put_off:
            self._statistics.unseen += len(put_off)
            later = [
                TupleMove(move.after, extended(move.after, PUT_OFF_MS, now_ms)) for move in put_off
            ]
            await self._moves.change(later)
