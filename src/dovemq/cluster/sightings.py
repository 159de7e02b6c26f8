"""Decisions about other front ends from the heartbeats that this one has seen itself.

Nothing here reads a clock or a database: `decide` gets what was read, what is remembered, and the
time of this machine's monotonic clock. The times of different machines are never compared.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import UNSET, Raw, Struct, UnsetType


class FrontEndState(enum.Enum):
    JOINING = "joining"
    """It looks whether it may serve, and owns nothing yet."""
    SERVING = "serving"
    LEAVING = "leaving"
    """It hands its partitions over, and takes no others."""
    LEFT = "left"
    DEAD = "dead"
    """Another front end has declared it dead. This is final, as is `LEFT`."""


ENDED: Final = (FrontEndState.LEFT, FrontEndState.DEAD)


class LeaseTimes(Struct, frozen=True):
    """The times of leases; the same for all front ends of a cluster.

    A front end trusts its own lease for `lease_ms` less the margin. Others wait for `lease_ms` and
    the margin. The two margins cover clocks that run at different speeds and slow processes.
    """

    heartbeat_ms: int = 2_000
    look_ms: int = 1_000
    """The time between two looks at the others. A dead one is waited for from when its last
    heartbeat was seen here, so by up to this time longer."""
    lease_ms: int = 6_000
    margin_ms: int = 1_000
    record_ms: int = 600_000
    """The time for which the record of an ended front end is kept."""

    @property
    def trusted_ms(self) -> int:
        return self.lease_ms - self.margin_ms

    @property
    def silence_ms(self) -> int:
        return self.lease_ms + self.margin_ms


class Heartbeat(Struct, frozen=True):
    """The value of a front end's record. `count` makes each one different.

    `load` is what the front end reports of its work. It is not read here: front ends of other
    releases may write another form of it, or none.
    """

    address: str | None
    release: str
    count: int
    state: FrontEndState
    load: Raw | UnsetType = UNSET


class FrontEnd(Struct, frozen=True):
    """A front end as its record shows it; `version` is that of the record."""

    incarnation: int
    version: int
    heartbeat: Heartbeat

    @property
    def address(self) -> str | None:
        return self.heartbeat.address

    @property
    def ended(self) -> bool:
        return self.heartbeat.state in ENDED

    @property
    def serving(self) -> bool:
        return self.heartbeat.state is FrontEndState.SERVING


class Sighting(Struct, frozen=True):
    """The time at which this version of a record was first seen here."""

    version: int
    seen_ms: int


Memory = Mapping[int, Sighting]
"""The last sighting of each incarnation."""


class Judgement(Struct, frozen=True):
    """`silent` front ends are to be declared dead, the records of `outdated` ones removed.

    `due_ms` is the time at which the next one is silent, if nothing is seen of it until then.
    """

    memory: Memory
    silent: tuple[FrontEnd, ...]
    outdated: tuple[FrontEnd, ...]
    due_ms: int | None


def decide(
    observed: Iterable[FrontEnd], memory: Memory, now_ms: int, me: int, times: LeaseTimes
) -> Judgement:
    """Judge the front ends that were read; `now_ms` is a time after the reading has ended.

    A front end is silent if its record has not changed since this front end first saw it, a lease
    and a margin ago. It then trusts its own lease no longer, since that began before it was seen
    here: the record was written before the reading ended.
    """
    observed = tuple(observed)
    seen = {each.incarnation: _sighting(each, memory, now_ms) for each in observed}
    silent, outdated, due_ms = [], [], None
    for each in observed:
        seen_ms = seen[each.incarnation].seen_ms
        if each.ended:
            if now_ms - seen_ms >= times.record_ms:
                outdated.append(each)
        elif each.incarnation != me:
            ends_ms = seen_ms + times.silence_ms
            if ends_ms <= now_ms:
                silent.append(each)
            else:
                due_ms = min(due_ms or ends_ms, ends_ms)
    return Judgement(seen, tuple(silent), tuple(outdated), due_ms)


def _sighting(front_end: FrontEnd, memory: Memory, now_ms: int) -> Sighting:
    known = memory.get(front_end.incarnation)
    if known is not None and known.version == front_end.version:
        return known
    return Sighting(front_end.version, now_ms)
