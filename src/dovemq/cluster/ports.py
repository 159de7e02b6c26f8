"""The interfaces between the parts of a cluster of front ends, and their errors.

`placing.py` hands each verb either to a partition that this front end owns (`LocalPartition`, made
by an `OpenPartition`) or to the front end that owns it (a partition of a `Link`). Verbs that arrive
over the link are given to the partitions of `Local`, which never forward them again: a verb makes
one hop at most.
"""

from collections.abc import Awaitable
from typing import Protocol

from dovemq.core.errors import Busy
from dovemq.core.ports import Partition
from dovemq.core.queue import Queue
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.opening import Ownership
from dovemq.stores.owned.logged.ports import Log


class NotOwner(Busy):
    """The front end that was asked does not own the partition; nothing was done.

    It crosses the link: a partition of a `Link` raises it when the other side did.
    """

    def __init__(self, queue_number: int, partition: int) -> None:
        super().__init__(
            f"This front end does not serve partition {partition} of queue {queue_number}"
        )
        self.queue_number = queue_number
        self.partition = partition


class PeerUnreachable(Busy):
    """The link to a front end failed. `sent` is False if it cannot have received the verb."""

    def __init__(self, address: str, cause: str, *, sent: bool) -> None:
        outcome = "Whether the request was done is unknown" if sent else "Nothing was done"
        super().__init__(f"The front end at {address} cannot be reached ({cause}). {outcome}")
        self.address = address
        self.cause = cause
        self.sent = sent


class Link(Protocol):
    """Connections to other front ends: one for each address, made when it is first needed."""

    def partition(self, address: str, queue: Queue, place: PartitionKey) -> Partition:
        """The partition as the front end at that address serves it. Cheap, and connects nothing.

        Its verbs have the results and errors of the other side (the errors of `core.errors`, and
        `NotOwner`), or raise `PeerUnreachable`. A verb is sent once and never repeated by the link.
        If its caller is cancelled, so is the verb on the other side, as far as it can be reached.
        Clocks may differ by minutes: the other side uses its own, and times are sent and answered
        as distances from now.

        `watch` keeps a watch on the other side while anybody watches here, and starts it again
        after a lost connection. Watchers are also woken when the connection is lost, since they may
        have missed something.
        """

    async def refusal(self, address: str) -> str | None:
        """Why the front end at that address and this one refuse each other.

        None if they do not, or if the other cannot be reached now.
        """

    def forget(self, address: str) -> None:
        """The front end at that address is dead: end the connection to it.

        Verbs under way raise `PeerUnreachable`. The next verb connects again, since another front
        end may have taken the address.
        """

    def close(self) -> Awaitable[None]:
        """End all connections; verbs under way raise `PeerUnreachable`. May be called twice."""


class Local(Protocol):
    """The partitions of this front end, for verbs that arrive over the link."""

    def partition(self, queue_number: int, partition: int, version: int = 0) -> Partition:
        """The same object each time, and cheap to get: nothing is opened until a verb is asked.

        `version` is that of the queue as the other side knows it. If it is newer than here, the
        catalogue is read before the next verb, so that a client finds its own changes.

        A verb opens the partition if this front end owns it or if nobody alive does. Otherwise it
        raises `NotOwner`. `watch` never fails; its watchers are also woken when this front end
        loses the partition, so that the other side looks for the new owner.
        """


class LocalPartition(Partition, Protocol):
    """A partition that this front end owns in one epoch.

    It answers a durable verb only if its ownership holds after the write; else it raises
    `OwnerChanged`.
    """

    def follow(self, queue: Queue) -> None:
        """Use the settings of this version of the queue, unless a newer one is known."""

    def expire(self, now_ms: int) -> None:
        """Remove expired messages, and look after a log that nobody uses."""

    def stop(self) -> Awaitable[None]:
        """Write what is pending, answer what is under way, then refuse everything."""

    def abandon(self) -> None:
        """Write nothing more, and refuse everything, also what is under way. May be repeated."""


class OpenPartition(Protocol):
    """Opens a partition: reads its log and rebuilds its index.

    The partition calls `ownership.lost` once if it finds that it has another owner, or that it
    cannot go on; it refuses everything from then on.
    """

    def __call__(
        self, log: Log, queue: Queue, number: int, ownership: Ownership
    ) -> Awaitable[LocalPartition]: ...
