"""What the rest of the product asks of a store, and what every store promises.

`tests/contract` holds the same promises as sentences and runs them against each store. Time is
passed in as `now_ms` and never goes backwards for one store.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

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


class Clock(Protocol):
    def now_ms(self) -> int: ...


class Partition(Protocol):
    """One physical queue. Atomic per item; lists are answered in order.

    A lost reply means done or not done, never half: every verb may be repeated.
    """

    def send(self, drafts: Sequence[Draft], now_ms: int) -> Awaitable[list[Sent | Duplicate]]:
        """Durable, then visible, then answered.

        On FIFO queues a draft whose deduplication id was sent within the interval, in the same
        scope, answers `Duplicate` with the first ids, also when the first is being committed.
        """
        ...

    def lease(self, ask: Ask, now_ms: int) -> Awaitable[Leased]:
        """Hide messages until now + lease and hand them out.

        Standard: drawn among the first max(K, n) visible ones by `visible_at`. FIFO: groups by
        the `visible_at` of their first message, of each as many as possible up to the first
        that is hidden. May be forgotten in a crash: the messages are then visible again, never
        lost. A caller that is cancelled while waiting for the answer leaves nothing leased.
        """
        ...

    def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False
    ) -> Awaitable[list[Settlement]]:
        """Durable, idempotent. Standard queues honour a receipt whose lease has ended.

        `moved`: another partition has adopted them, so the observer is told of no settle.
        """
        ...

    def extend(
        self, changes: Sequence[tuple[Receipt, int]], now_ms: int
    ) -> Awaitable[list[Extension]]:
        """Hide each message until now + the given ms; 0 makes it visible at once.

        Only the newest lease of a message can be extended. On standard queues that holds for one
        that has ended too, while the message is visible and the limits of its group allow it; and
        an older receipt may ask for 0, which changes nothing. An older receipt never changes the
        lease that somebody else holds.
        """
        ...

    def release(self, receipts: Sequence[Receipt], now_ms: int) -> Awaitable[None]:
        """Take back leases that were never delivered: old place and old count.

        A receipt that is not the newest lease of its message is passed over.
        """
        ...

    def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> Awaitable[list[Sent]]:
        """Durable, idempotent by message id while the adopted message is here.

        Together with `settle` at the source, in that order, a message is never in none.
        """
        ...

    def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> Awaitable[int]:
        """Durably remove up to `count_max` messages sent before then, leased ones too.

        Their deduplication ids are forgotten. Answers how many were removed; fewer than
        `count_max` means none is left.
        """
        ...

    def peek(self, page: Peek, now_ms: int) -> Awaitable[list[Peeked]]:
        """Look without touching: no lease, no count."""
        ...

    def counts(self, now_ms: int) -> Awaitable[Counts]: ...

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` when messages may have become claimable; may be spurious.

        The passing of time does not call it: `Leased.next_due_ms` tells when to look again.
        Returns the undo.
        """
        ...


class Catalogue(Protocol):
    """Queues, accounts and move tasks.

    Every write is durable when answered. A lost reply means done or not done, never half.
    """

    def create(self, queue: Queue) -> Awaitable[Queue]:
        """The queue with its number, or the one that already has this key, unchanged."""
        ...

    def find(self, key: QueueKey) -> Awaitable[Queue | None]: ...

    def replace(self, queue: Queue) -> Awaitable[bool]:
        """Compare-and-set on `version`: store with version + 1, or False if it has moved on."""
        ...

    def remove(self, key: QueueKey) -> Awaitable[bool]:
        """Remove the queue, its messages and its moves; False if there is none."""
        ...

    def page(
        self, account: str | None, prefix: str, after: str, count_max: int
    ) -> Awaitable[list[Queue]]:
        """Queues of an account (None: all) by key, whose name starts with `prefix`.

        `after` is the `str` of the last key of the page before, "" for the first page.
        """
        ...

    def sources(self, target: QueueKey) -> Awaitable[list[Queue]]:
        """Queues whose redrive target this is, by name."""
        ...

    def save_move(self, move: Move) -> Awaitable[None]: ...

    def moves(self, source: QueueKey | None = None) -> Awaitable[list[Move]]:
        """Newest first; at most ten finished ones are kept per source."""
        ...

    def accounts(self) -> Awaitable[list[Account]]:
        """All of them, by number."""
        ...

    def save_account(self, account: Account) -> Awaitable[bool]:
        """Compare-and-set on `version`: store with version + 1, or False if it has moved on.

        Version 0 is a new account. False too if its number or name belongs to another one.
        """
        ...

    def remove_account(self, number: str) -> Awaitable[bool]:
        """Remove an account that owns no queue; False if there is none or it owns one."""
        ...


class Store(Protocol):
    receipt_key: bytes
    """The secret under which receipts are made; lives as long as the data."""

    @property
    def catalogue(self) -> Catalogue: ...

    def partition(self, queue: Queue, number: int) -> Partition:
        """The partition of this version of the queue; cheap, and the same object each time.

        Passing a newer version of the queue makes the partition follow its settings.
        """
        ...

    def close(self) -> Awaitable[None]:
        """Flush what is pending, then refuse everything. Idempotent."""
        ...
