"""Stores in memory with one thing wrong each. The name of a class says what."""

import random
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from dovemq.core import limits
from dovemq.core.accounts import Account
from dovemq.core.commands import (
    Ask,
    Counts,
    Draft,
    Duplicate,
    Extension,
    Leased,
    Move,
    Peek,
    Peeked,
    Receipt,
    Sent,
    Settlement,
    Transfer,
)
from dovemq.core.queue import Queue, QueueKey
from dovemq.core.sending import stored_units
from dovemq.stores.memory import MemoryPartition, MemoryStore
from dovemq.stores.memory_catalogue import MemoryCatalogue


class LeaseHidesNothing(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        leased = await super().lease(ask, now_ms)
        for lease in leased.messages:
            self._rows[lease.message.sequence].visible_ms = now_ms
        return leased


class LeaseEndsOneMillisecondEarly(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        shorter = msgspec.structs.replace(ask, lease_ms=max(0, ask.lease_ms - 1))
        return await super().lease(shorter, now_ms)


class LeaseEndsOneMillisecondLate(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        longer = msgspec.structs.replace(ask, lease_ms=ask.lease_ms + 1)
        return await super().lease(longer, now_ms)


class LeaseTakesOneTooMany(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        greedy = msgspec.structs.replace(ask, count_max=ask.count_max + 1)
        return await super().lease(greedy, now_ms)


class LeaseDoesNotTellWhenToLookAgain(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        return msgspec.structs.replace(await super().lease(ask, now_ms), next_due_ms=None)


class LeaseNeverTellsThatThereIsMore(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        return msgspec.structs.replace(await super().lease(ask, now_ms), more=False)


class ReceivesAreNotCounted(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        leased = await super().lease(ask, now_ms)
        uncounted = [msgspec.structs.replace(lease, receive_count=1) for lease in leased.messages]
        return msgspec.structs.replace(leased, messages=uncounted)


class FirstReceiveIsForgotten(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        for row in self._rows.values():
            row.first_received_ms = 0
        return await super().lease(ask, now_ms)


class ExhaustedMessagesAreHandedOut(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        return await super().lease(msgspec.structs.replace(ask, receives_max=None), now_ms)


class ExhaustedOneReceiveTooLate(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        most = None if ask.receives_max is None else ask.receives_max + 1
        return await super().lease(msgspec.structs.replace(ask, receives_max=most), now_ms)


class NoisyGroupsGoFirst(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        self.groups.judge = lambda leases, now_ms: None  # type: ignore[method-assign]
        return await super().lease(ask, now_ms)


class NoiseIsForgottenAtOnce(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        self.groups.noisy.clear()
        return await super().lease(ask, now_ms)


class PaceIsForgotten(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        self.groups.forget_old_leases(now_ms + limits.SECOND_MS)
        return await super().lease(ask, now_ms)


class SettingsIgnored(MemoryPartition):
    """A partition that ignores one setting and uses its default."""

    ignored: ClassVar[dict[str, object]]

    def follow(self, queue: Queue) -> None:
        settings = msgspec.structs.replace(queue.settings, **self.ignored)
        self._queue = msgspec.structs.replace(queue, settings=settings)


class OrderHintIgnored(SettingsIgnored):
    ignored: ClassVar[dict[str, object]] = {"order_hint": 1}


class PauseIgnored(SettingsIgnored):
    ignored: ClassVar[dict[str, object]] = {"delivery_paused": False}


class ConcurrencyIgnored(SettingsIgnored):
    ignored: ClassVar[dict[str, object]] = {"group_concurrency": None}


class RetentionIgnored(SettingsIgnored):
    ignored: ClassVar[dict[str, object]] = {"retention_ms": limits.RETENTION_MS.most}


class ScopeIgnored(SettingsIgnored):
    ignored: ClassVar[dict[str, object]] = {"deduplication_scope": "queue"}


class GroupsAreNotLocked(MemoryPartition):
    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        queue = self._queue
        settings = msgspec.structs.replace(queue.settings, fifo=False)
        self._queue = msgspec.structs.replace(queue, settings=settings)
        leased = await super().lease(ask, now_ms)
        self._queue = queue
        return leased


class SettingsNeverChange(MemoryPartition):
    def follow(self, queue: Queue) -> None:
        pass


class OldSettingsComeBack(MemoryPartition):
    def follow(self, queue: Queue) -> None:
        self._queue = queue


class DelayIgnored(MemoryPartition):
    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        prompt = [msgspec.structs.replace(draft, delay_ms=0) for draft in drafts]
        return await super().send(prompt, now_ms)


class AttributesAreLost(MemoryPartition):
    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        bare = [msgspec.structs.replace(draft, attributes={}) for draft in drafts]
        return await super().send(bare, now_ms)


class DuplicatesGetNewIds(MemoryPartition):
    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        answers = await super().send(drafts, now_ms)
        return [
            msgspec.structs.replace(answer, message_id=draft.message_id)
            for draft, answer in zip(drafts, answers, strict=True)
        ]


class DuplicatesProlongTheInterval(MemoryPartition):
    def _send(self, draft: Draft, now_ms: int) -> Sent | Duplicate:
        answer = super()._send(draft, now_ms)
        key = self._deduplication_key(draft)
        if key is not None:
            self._first_sends[key] = (now_ms, self._first_sends[key][1])
        return answer


class IntervalIsTooShort(MemoryPartition):
    def _forget_sends(self, sent_before_ms: int) -> None:
        super()._forget_sends(sent_before_ms + 1)


class IntervalIsTooLong(MemoryPartition):
    def _forget_sends(self, sent_before_ms: int) -> None:
        super()._forget_sends(sent_before_ms - 1)


class SettleForgetsTheDeduplicationId(MemoryPartition):
    async def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> list[Settlement]:
        self._first_sends.clear()
        return await super().settle(receipts, now_ms, moved=moved, forced=forced)


class SettleForgets(MemoryPartition):
    def _settle(self, receipt: Receipt, now_ms: int) -> Settlement:
        return Settlement.SETTLED if receipt.sequence in self._rows else Settlement.GONE


class SettleRefusesEndedLeases(MemoryPartition):
    def _settle(self, receipt: Receipt, now_ms: int) -> Settlement:
        row = self._rows.get(receipt.sequence)
        if row and not row.leased(now_ms):
            return Settlement.EXPIRED
        return super()._settle(receipt, now_ms)


class FifoHonoursEndedLeases(MemoryPartition):
    def _settle(self, receipt: Receipt, now_ms: int) -> Settlement:
        if row := self._rows.get(receipt.sequence):
            self._remove(row)
        return Settlement.SETTLED


class StaleReceiptHidesAgain(MemoryPartition):
    def _extend(self, receipt: Receipt, lease_ms: int, now_ms: int) -> Extension:
        if row := self._rows.get(receipt.sequence):
            row.visible_ms = now_ms + lease_ms
        return super()._extend(receipt, lease_ms, now_ms)


class ExtensionCountsFromTheOldEnd(MemoryPartition):
    def _extend(self, receipt: Receipt, lease_ms: int, now_ms: int) -> Extension:
        row = self._rows.get(receipt.sequence)
        left_ms = row.visible_ms - now_ms if row else 0
        return super()._extend(receipt, lease_ms + max(0, left_ms), now_ms)


class ReleaseKeepsTheCount(MemoryPartition):
    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        await self.extend([(receipt, 0) for receipt in receipts], now_ms)


class ReleaseLosesThePlace(MemoryPartition):
    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        await super().release(receipts, now_ms)
        for receipt in receipts:
            if row := self._rows.get(receipt.sequence):
                row.visible_ms = now_ms


class ReleaseTakesOldReceipts(MemoryPartition):
    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        for receipt in receipts:
            if row := self._rows.get(receipt.sequence):
                row.release()


class AdoptStartsAfresh(MemoryPartition):
    def _adopt(self, transfer: Transfer, now_ms: int) -> Sent:
        return super()._adopt(Transfer(transfer.message), now_ms)


class AdoptTakesTwice(MemoryPartition):
    def _adopt(self, transfer: Transfer, now_ms: int) -> Sent:
        for row in self._rows.values():
            row.adopted = False
        return super()._adopt(transfer, now_ms)


class AdoptResetsTheTimeOfTheSend(MemoryPartition):
    def _adopt(self, transfer: Transfer, now_ms: int) -> Sent:
        message = msgspec.structs.replace(transfer.message, sent_ms=now_ms)
        return super()._adopt(msgspec.structs.replace(transfer, message=message), now_ms)


class DropMissesLeasedMessages(MemoryPartition):
    async def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> int:
        leased = {number: row for number, row in self._rows.items() if row.leased(now_ms)}
        count = await super().drop(sent_before_ms, count_max, now_ms)
        self._rows.update(leased)
        return count


class DropTakesWhatWasSentThen(MemoryPartition):
    async def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> int:
        return await super().drop(sent_before_ms + 1, count_max, now_ms)


class CountsMixUpLeasedAndDelayed(MemoryPartition):
    async def counts(self, now_ms: int) -> Counts:
        counts = await super().counts(now_ms)
        return msgspec.structs.replace(counts, leased=counts.delayed, delayed=counts.leased)


class OldestCountsHiddenMessages(MemoryPartition):
    async def counts(self, now_ms: int) -> Counts:
        oldest_ms = min((row.message.sent_ms for row in self._rows.values()), default=None)
        return msgspec.structs.replace(await super().counts(now_ms), oldest_ms=oldest_ms)


class LeasedMessagesWeighNothing(MemoryPartition):
    async def counts(self, now_ms: int) -> Counts:
        counts = await super().counts(now_ms)
        leased = [row.message for row in self._rows.values() if row.leased(now_ms)]
        size = sum(map(stored_units, leased)) * limits.STORED_UNIT_BYTES
        return msgspec.structs.replace(counts, bytes=counts.bytes - size)


class BodiesAloneHaveWeight(MemoryPartition):
    async def counts(self, now_ms: int) -> Counts:
        bodies = [row.message.body for row in self._rows.values()]
        counts = await super().counts(now_ms)
        return msgspec.structs.replace(counts, bytes=sum(len(body.encode()) for body in bodies))


class PeekCountsAsAReceive(MemoryPartition):
    async def peek(self, page: Peek, now_ms: int) -> list[Peeked]:
        for row in self._rows.values():
            row.receive_count += 1
        return await super().peek(page, now_ms)


class NobodyIsWoken(MemoryPartition):
    def _wake(self) -> None:
        pass


class WatchersCannotLeave(MemoryPartition):
    def _unwatch(self, key: object) -> None:
        pass


class ChangesAreNotCompared(MemoryCatalogue):
    async def replace(self, queue: Queue) -> bool:
        self._queues[queue.key] = msgspec.structs.replace(queue, version=queue.version + 1)
        return True


class CreatingAgainOverwrites(MemoryCatalogue):
    async def create(self, queue: Queue) -> Queue:
        self._queues.pop(queue.key, None)
        return await super().create(queue)


class NumbersAreUsedAgain(MemoryCatalogue):
    async def remove(self, key: QueueKey) -> bool:
        self._last_number -= 1
        return await super().remove(key)


class PrefixIgnoresCase(MemoryCatalogue):
    async def page(
        self, account: str | None, prefix: str, after: str, count_max: int
    ) -> list[Queue]:
        queues = await super().page(account, "", after, count_max)
        return [queue for queue in queues if queue.key.name.lower().startswith(prefix.lower())]


class SourcesOfAnyAccountAreListed(MemoryCatalogue):
    async def sources(self, target: QueueKey) -> list[Queue]:
        queues = (queue for _, queue in sorted(self._queues.items()))
        return [
            queue
            for queue in queues
            if queue.settings.redrive and queue.settings.redrive.target.name == target.name
        ]


class EveryMoveIsForgotten(MemoryCatalogue):
    async def save_move(self, move: Move) -> None:
        await super().save_move(move)
        for move_id in list(self._moves)[:-10]:
            del self._moves[move_id]


class AccountChangesAreNotCompared(MemoryCatalogue):
    async def save_account(self, account: Account) -> bool:
        self._accounts[account.number] = msgspec.structs.replace(
            account, version=account.version + 1
        )
        return True


class NamesOfAccountsAreNotCompared(MemoryCatalogue):
    async def save_account(self, account: Account) -> bool:
        named, nameless = account.name, msgspec.structs.replace(account, name=account.number)
        saved = await super().save_account(nameless)
        if saved:
            held = self._accounts[account.number]
            self._accounts[account.number] = msgspec.structs.replace(held, name=named)
        return saved


class AccountsWithQueuesAreRemoved(MemoryCatalogue):
    async def remove_account(self, number: str) -> bool:
        return self._accounts.pop(number, None) is not None


class BuggyStore(MemoryStore):
    def __init__(
        self, bug: type[MemoryPartition] | type[MemoryCatalogue], rng: random.Random
    ) -> None:
        super().__init__(rng, b"receipt key of the bug")
        self._bug = bug if issubclass(bug, MemoryPartition) else MemoryPartition
        if issubclass(bug, MemoryCatalogue):
            self.catalogue = bug(self._check_open, self._forget)

    def _new_partition(self, queue: Queue, number: int) -> MemoryPartition:
        return self._bug(
            queue, number, self._sequences, self._rng, self._check_queue, self._observer
        )
