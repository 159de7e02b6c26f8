"""Stores in memory that fail once in ten thousand messages, as the class name says."""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from dovemq.core.commands import (
    Ask,
    Draft,
    Duplicate,
    Leased,
    Receipt,
    Sent,
    Settlement,
)
from dovemq.core.queue import Queue
from dovemq.stores.memory import MemoryPartition, MemoryStore

WRONG_AT: Final = 5_000


class WrongOnce(MemoryPartition):
    """Counts up to the call that goes wrong."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._calls: Iterator[int] = itertools.count(1)

    def _is_wrong(self) -> bool:
        return next(self._calls) == WRONG_AT


class LosesOne(WrongOnce):
    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        answers = await super().send(drafts, now_ms)
        if self._is_wrong():
            self._remove(self._rows[answers[0].sequence])
        return answers


class DoublesOne(WrongOnce):
    def _send(self, draft: Draft, now_ms: int) -> Sent | Duplicate:
        if self._is_wrong():
            super()._send(msgspec.structs.replace(draft, message_id="a second one"), now_ms)
        return super()._send(draft, now_ms)


class StoresOneTwice(WrongOnce):
    """Stores a message twice under the same message id."""

    def _send(self, draft: Draft, now_ms: int) -> Sent | Duplicate:
        if self._is_wrong():
            super()._send(draft, now_ms)
        return super()._send(draft, now_ms)


class SwapsTwo(MemoryPartition):
    _swapped = False

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        leased = await super().lease(ask, now_ms)
        numbers = [lease.receipt.sequence for lease in leased.messages]
        if self._swapped or len(numbers) < 2 or numbers[0] < WRONG_AT:
            return leased
        self._swapped = True
        first, second, *others = leased.messages
        return msgspec.structs.replace(leased, messages=[second, first, *others])


class ReturnsASettledOne(WrongOnce):
    def _settle(self, receipt: Receipt, now_ms: int) -> Settlement:
        row = self._rows.get(receipt.sequence)
        settlement = super()._settle(receipt, now_ms)
        if row is not None and self._is_wrong():
            self._add(row)
        return settlement


class SpoilsOne(WrongOnce):
    def _send(self, draft: Draft, now_ms: int) -> Sent | Duplicate:
        if self._is_wrong():
            draft = msgspec.structs.replace(draft, body=draft.body + "?")
        return super()._send(draft, now_ms)


class PlantedStore(MemoryStore):
    def __init__(self, wrong: type[MemoryPartition], rng: random.Random) -> None:
        super().__init__(rng, b"receipt key of the planted fault")
        self._wrong = wrong

    def _new_partition(self, queue: Queue, number: int) -> MemoryPartition:
        return self._wrong(
            queue, number, self._sequences, self._rng, self._check_queue, self._observer
        )
