"""The interface of a store, and the promises that every store keeps.

`tests/contract` has the same promises as tests and runs them on each store. The caller passes the
time as `now_ms`; for one store it never goes backwards.
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
from dovemq.core.coordination import Coordination
from dovemq.core.ledger import LedgerAsk, LedgerEntry, LedgerPage
from dovemq.core.queue import Queue, QueueKey


class Clock(Protocol):
    def now_ms(self) -> int: ...


class Partition(Protocol):
    """One physical queue: its messages and their leases.

    The service uses partition 0 of every queue; other numbers are for queues that are spread over
    several partitions. Each item of a list is done as a whole or not at all, and answers are in
    the order of the list. If a reply is lost, the item was done or was not done, never half; every
    method may be repeated.
    """

    def send(self, drafts: Sequence[Draft], now_ms: int) -> Awaitable[list[Sent | Duplicate]]:
        """Make messages durable, then visible, then answer.

        On a FIFO queue a draft may repeat a deduplication id of the same scope within the interval.
        Its answer is `Duplicate` with the first ids, even while the first is being committed.
        """

    def lease(self, ask: Ask, now_ms: int) -> Awaitable[Leased]:
        """Hide messages until now + lease and return them.

        A standard queue draws them among the first max(K, n) visible messages, in order of the time
        from which they are visible. A FIFO queue takes groups in that order of their first message,
        and of each group as many messages as possible up to the first hidden one. A crash may undo
        leases: the messages are then visible again, and never lost. If the caller is cancelled
        while it waits for the answer, nothing stays leased.
        """

    def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> Awaitable[list[Settlement]]:
        """Delete messages durably. Settling twice does no harm.

        A standard queue accepts a receipt whose lease has ended. With `moved` another partition has
        adopted the messages, and the observer gets no `settled`. With `forced` only the sequence of
        a receipt counts: an operator deletes the message, whoever holds it, on a FIFO queue too.
        """

    def extend(
        self, changes: Sequence[tuple[Receipt, int]], now_ms: int
    ) -> Awaitable[list[Extension]]:
        """Hide each message until now + the given ms; 0 makes it visible at once.

        Only the newest lease of a message can be extended. On standard queues that holds for one
        that has ended too, while the message is visible and the limits of its group allow it; and
        an older receipt may ask for 0, which changes nothing. An older receipt never changes the
        lease that somebody else holds.
        """

    def release(self, receipts: Sequence[Receipt], now_ms: int) -> Awaitable[None]:
        """Undo leases that were never delivered: each message gets its old place and count.

        A receipt that is not the newest lease of its message is ignored.
        """

    def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> Awaitable[list[Sent]]:
        """Take over messages of another queue, durably.

        A message id that was adopted before and is still here is not adopted twice. A move adopts
        at the target first and then settles at the source, so that no message is lost between them.
        """

    def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> Awaitable[int]:
        """Remove up to `count_max` messages sent before that time durably, leased ones too.

        Their deduplication ids are forgotten. Returns how many were removed; fewer than `count_max`
        means that none is left.
        """

    def peek(self, page: Peek, now_ms: int) -> Awaitable[list[Peeked]]:
        """Show messages without leasing or counting."""

    def counts(self, now_ms: int) -> Awaitable[Counts]: ...

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` when there may be messages to receive. Returns a function that ends this.

        `wake` may be called without need. It is not called because time passes:
        `Leased.next_due_ms` says when to look again.
        """


class Catalogue(Protocol):
    """The queues, accounts and move tasks of a store.

    A write is durable when it is answered. If a reply is lost, the write was done or was not done,
    never half.
    """

    def create(self, queue: Queue) -> Awaitable[Queue]:
        """Store the queue and give it a number; an existing queue of this key is returned as is."""

    def find(self, key: QueueKey) -> Awaitable[Queue | None]:
        """The queue as this process knows it. Another one may have changed it a moment ago."""

    def latest(self, key: QueueKey) -> Awaitable[Queue | None]:
        """The queue as it is stored now: the start of every change."""

    def replace(self, queue: Queue) -> Awaitable[bool]:
        """Store the queue with version + 1; False if the stored version is another."""

    def remove(self, key: QueueKey) -> Awaitable[bool]:
        """Remove the queue, its messages and its moves; False if it does not exist."""

    def page(
        self, account: str | None, prefix: str, after: str, count_max: int
    ) -> Awaitable[list[Queue]]:
        """Queues of an account, or of all for None, whose name starts with `prefix`, by key.

        `after` is the `str` of the last key of the page before, or "" for the first page.
        """

    def sources(self, target: QueueKey) -> Awaitable[list[Queue]]:
        """The queues that have this redrive target, by name."""

    def save_move(self, move: Move) -> Awaitable[None]: ...

    def moves(self, source: QueueKey | None = None) -> Awaitable[list[Move]]:
        """Move tasks, the newest first; at most ten finished ones are kept per source."""

    def accounts(self) -> Awaitable[list[Account]]:
        """All accounts, by number."""

    def save_account(self, account: Account) -> Awaitable[bool]:
        """Store the account with version + 1; False if the stored version is another.

        Version 0 is a new account. Also False if another account has its number or name.
        """

    def remove_account(self, number: str) -> Awaitable[bool]:
        """Remove an account that owns no queue; False if it does not exist or owns one."""


class Ledger(Protocol):
    """Named values of several kinds, changed by compare-and-set: the progress of jobs.

    A write is durable when it is answered, and every later read sees it, on whatever front end. If
    a reply is lost, the write was done or was not done, never half; `put` of the same entry may be
    repeated, and then answers True if the stored entry is this one with version + 1.
    """

    def get(self, kind: str, name: str) -> Awaitable[LedgerEntry | None]: ...

    def put(self, entry: LedgerEntry) -> Awaitable[bool]:
        """Store the entry with version + 1; False if the stored version is another.

        Version 0 is a new entry.
        """

    def remove(self, entry: LedgerEntry) -> Awaitable[bool]:
        """Remove the entry; False if the stored version is another, or it does not exist."""

    def page(self, ask: LedgerAsk) -> Awaitable[LedgerPage]:
        """Entries by name. One that is written meanwhile is given as it was or as it is."""

    def due(self, kind: str, until_ms: int, count_max: int) -> Awaitable[list[LedgerEntry]]:
        """Entries whose `due_ms` is at most `until_ms`, in any order; none has no `due_ms`."""


class Store(Protocol):
    receipt_key: bytes
    """The secret that signs receipts; it lives as long as the data."""

    @property
    def coordinations(self) -> tuple[Coordination, ...]:
        """The values of `QueueSettings.coordination` that queues of this store can have."""

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def ledger(self) -> Ledger: ...

    def partition(self, queue: Queue, number: int) -> Partition:
        """The partition of that number: the same object each time, and cheap to get.

        With a newer version of the queue the partition takes over its settings.
        """

    def close(self) -> Awaitable[None]:
        """Write what is pending, then refuse everything. May be called twice."""
