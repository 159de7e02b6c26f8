"""Owners of partitions: one record for each, which changes only when the partition moves.

A partition is opened in an epoch that was never used before. The epoch comes from the record, which
is written by compare-and-set, so that no two front ends open a partition in the same one. A record
that names a living front end is changed by that front end alone, when it hands the partition over.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.cluster.membership import Membership
from dovemq.cluster.ports import NotOwner
from dovemq.cluster.sightings import FrontEnd
from dovemq.core.errors import Busy, InvariantError, StoreUnreachable
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.ports import Records, StoredRecord
from dovemq.stores.owned.logged.positions import EPOCH_MAX

KIND: Final = "owner"
CLAIM_ATTEMPTS_MAX: Final = 5


class PartitionOwner(Struct, frozen=True):
    """The value of the record: the incarnation that owns the partition in this epoch."""

    incarnation: int
    epoch: int


class OwnerClaim(Struct, frozen=True):
    """A partition that this front end may open in this epoch, once. `version` is the record's."""

    epoch: int
    version: int


def owner_name(place: PartitionKey) -> str:
    return f"{place[0]}/{place[1]}"


def owned_place(name: str) -> PartitionKey:
    queue_number, _, partition = name.partition("/")
    return int(queue_number), int(partition)


def owner_of(record: StoredRecord) -> PartitionOwner:
    return msgspec.json.decode(record.value, type=PartitionOwner)


def wanted_owner(place: PartitionKey, front_ends: Iterable[FrontEnd]) -> FrontEnd | None:
    """The front end with the highest hash of its address and the partition.

    A front end that joins or leaves moves only the partitions that it gets or had. After a restart
    at the same address it gets the same ones; of two incarnations at one address the younger wins.
    """
    return max(front_ends, key=lambda each: (_score(place, each), each.incarnation), default=None)


def _score(place: PartitionKey, front_end: FrontEnd) -> bytes:
    text = f"{front_end.address} {owner_name(place)}"
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


class Owners:
    def __init__(self, records: Records, membership: Membership) -> None:
        self._records = records
        self._membership = membership

    async def settle(
        self, place: PartitionKey, *, opened_epoch: int, asked_by_peer: bool
    ) -> OwnerClaim | FrontEnd:
        """The front end that owns the partition, or a claim if this one may open it.

        A partition without a living owner is claimed if this front end is the wanted owner, or if
        another front end holds it for that one. `opened_epoch` is the last epoch in which this
        process has opened the partition; it does not open it twice in the same.
        """
        for _ in range(CLAIM_ATTEMPTS_MAX):
            record = await self._records.get(KIND, owner_name(place))
            held = owner_of(record) if record else PartitionOwner(0, 0)
            version = record.version if record else 0
            me = self._membership.incarnation
            if held.incarnation != me:
                other = await self._living_owner(place, held, asked_by_peer=asked_by_peer)
                if other is not None:
                    return other
            if not self._membership.may_own():
                raise NotOwner(*place)
            if held.incarnation == me and held.epoch > opened_epoch:
                return OwnerClaim(held.epoch, version)
            epoch = max(held.epoch, opened_epoch) + 1
            if await self._write(place, PartitionOwner(me, epoch), version):
                return OwnerClaim(epoch, version + 1)
        raise Busy(f"The owner of partition {owner_name(place)} changes too often")

    async def hand_over(self, place: PartitionKey, claim: OwnerClaim, to: FrontEnd) -> bool:
        """Let the other front end open the partition; False if it is not ours any more."""
        return await self._write(
            place, PartitionOwner(to.incarnation, claim.epoch + 1), claim.version
        )

    async def _living_owner(
        self, place: PartitionKey, held: PartitionOwner, *, asked_by_peer: bool
    ) -> FrontEnd | None:
        """The other front end that owns the partition or should; None if this one may take it."""
        owner = await self._membership.find(held.incarnation) if held.incarnation else None
        if owner is not None:
            return owner
        if asked_by_peer:
            return None
        wanted = wanted_owner(place, self._membership.serving())
        is_me = wanted is None or wanted.incarnation == self._membership.incarnation
        return None if is_me else wanted

    async def _write(self, place: PartitionKey, ownership: PartitionOwner, version: int) -> bool:
        if ownership.epoch > EPOCH_MAX:
            raise InvariantError(f"partition {owner_name(place)} has used up its epochs")
        value, name = msgspec.json.encode(ownership), owner_name(place)
        try:
            return await self._records.put(KIND, name, value, version)
        except StoreUnreachable:
            # Only this front end can have written this value in this version.
            return await self._records.get(KIND, name) == StoredRecord(name, value, version + 1)
