"""A look at a partition's rows without touching them."""

from collections.abc import Callable

import apsw

from dovemq.core.commands import Page, Peeked, Visibility
from dovemq.stores.sqlite.context import StoreContext
from dovemq.stores.sqlite.group import PartitionKey


def peeking(
    context: StoreContext, place: PartitionKey, page: Page, now_ms: int
) -> Callable[[apsw.Connection], list[Peeked]]:
    """What the reader thread does; damaged messages are passed over."""
    key = (*place, page.after_sequence, page.count_max)

    def read(connection: apsw.Connection) -> list[Peeked]:
        states = list(connection.execute(context.sql.peek_entries, key))
        found, _ = context.body_reader.read(connection, [state[0] for state in states])
        return [
            Peeked(
                found[sequence],
                _visibility(visible_ms, receive_count, now_ms),
                visible_ms,
                receive_count,
                first_received_ms,
            )
            for sequence, visible_ms, receive_count, first_received_ms in states
            if sequence in found
        ]

    return read


def _visibility(visible_ms: int, receive_count: int, now_ms: int) -> Visibility:
    if visible_ms <= now_ms:
        return Visibility.VISIBLE
    return Visibility.LEASED if receive_count else Visibility.DELAYED
