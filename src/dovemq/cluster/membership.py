"""Membership of this front end in the cluster: its lease, and the other front ends.

The decisions about others are in `sightings.py`; this is their driver. It renews the record of this
front end, and reads those of all, the latter more often. If a renewal is refused or comes too late,
everything that is owned is dropped, and the front end joins again as another incarnation.
Incarnations are numbered in the order of joining: the oldest one that lives leads.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from dovemq.cluster.heartbeats import (
    KIND,
    Heartbeats,
    Report,
    declare_dead,
    front_end_of,
    nothing_to_report,
)
from dovemq.cluster.numbering import next_number
from dovemq.cluster.sightings import FrontEnd, FrontEndState, LeaseTimes, Memory, decide
from dovemq.cluster.tenure import MonotonicClock, Tenure
from dovemq.cluster.troubles import Troubles
from dovemq.core.errors import Busy, DoveError, StoreUnreachable, StoreUnusable
from dovemq.stores.owned.logged.ports import Database

log = logging.getLogger(__name__)

RETRIES_PER_HEARTBEAT: Final = 4
"""After a failed round the next one comes earlier by this factor."""
JOIN_ATTEMPTS_MAX: Final = 20
RENEWAL: Final = "The renewal of the lease of this front end"
LOOK_MS_MIN: Final = 100
"""The least time between two readings of the records, except for those of the heartbeats."""


class AnotherFrontEnd(StoreUnusable):
    """A front end without an address must be the only one of its store."""

    def __init__(self, database: str, other: FrontEnd) -> None:
        where = f" at {other.address}" if other.address else " (without an address)"
        super().__init__(
            database,
            f"front end {other.incarnation}{where} serves this store",
            "stop that one, or start both with --advertise",
        )
        self.other = other


class FrontEndRefused(StoreUnusable):
    """Two front ends that refuse each other must not both serve a store."""

    def __init__(self, database: str, other: FrontEnd, reason: str) -> None:
        super().__init__(
            database,
            f"front end {other.incarnation} at {other.address} and this one refuse each other: "
            f"{reason}",
            "give both the same --cluster-secret-file, release and use of TLS, or stop that one",
        )
        self.other = other


class Membership:
    """`changed` is called when the front ends have changed, `dropped` when the lease was lost.

    `refusal` tells why the front end at an address and this one refuse each other, if they do.
    """

    def __init__(
        self,
        database: Database,
        *,
        address: str | None,
        release: str,
        monotonic_ms: MonotonicClock,
        new_token: Callable[[], str],
        times: LeaseTimes,
        refusal: Callable[[str], Awaitable[str | None]],
        changed: Callable[[], None],
        dropped: Callable[[], None],
    ) -> None:
        self.front_ends: tuple[FrontEnd, ...] = ()
        """All front ends that have not ended, by incarnation, as they were last read."""
        self.left: frozenset[int] = frozenset()
        """Incarnations that have left by themselves, and answer what they have accepted."""
        self.tenure: Tenure | None = None
        self.trouble: StoreUnreachable | None = None
        """The reason why the last renewal of the lease failed; None if it succeeded."""
        self.report: Report = nothing_to_report
        self._troubles = Troubles(monotonic_ms)
        self._database = database
        self._address = address
        self._release = release
        self._monotonic_ms = monotonic_ms
        self._new_token = new_token
        self._times = times
        self._refusal = refusal
        self._changed = changed
        self._dropped = dropped
        self._memory: Memory = {}
        self._due_ms: int | None = None
        self._looked_ms: int | None = None
        self._looking = asyncio.Lock()
        self._heartbeats: Heartbeats | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def incarnation(self) -> int:
        """The number of this incarnation; 0 while it has none."""
        return self._heartbeats.incarnation if self._heartbeats else 0

    def holds(self) -> bool:
        return self.tenure is not None and self.tenure.holds()

    def may_own(self) -> bool:
        heartbeats = self._heartbeats
        return heartbeats is not None and heartbeats.state is FrontEndState.SERVING and self.holds()

    def leads(self) -> bool:
        """Whether this front end does the work that one does for all.

        No two lead at the same time: only a front end that has ended is passed over, and before
        another can declare that, it trusts its own lease no longer.
        """
        oldest = min((each.incarnation for each in self.front_ends), default=0)
        return self.may_own() and oldest == self.incarnation

    def serving(self) -> tuple[FrontEnd, ...]:
        return tuple(each for each in self.front_ends if each.serving)

    async def join(self) -> None:
        """Become a member.

        Raises `AnotherFrontEnd` if this one or a living one must be alone, and `FrontEndRefused` if
        the two refuse each other.
        """
        for _ in range(JOIN_ATTEMPTS_MAX):
            number = await next_number(self._database.records, "incarnation", self._new_token)
            self._heartbeats = Heartbeats(
                self._database.records,
                number,
                self._address,
                self._release,
                lambda: self.report(),
            )
            try:
                if await self._begin(self._heartbeats):
                    log.info("front end %d serves %s", number, self._database.name)
                    return
            except DoveError:
                await self._withdraw()
                raise
            await self._withdraw()
        raise Busy(f"Front ends joined {JOIN_ATTEMPTS_MAX} times at the same moment as this one")

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run()), loop.create_task(self._watch())]

    async def begin_leaving(self) -> None:
        """Let others no longer want this front end as an owner. The heartbeats go on."""
        if self._heartbeats and self.holds():
            await self._heartbeats.beat(FrontEndState.LEAVING)
            await self._look()

    async def leave(self) -> None:
        """Stop, and let others take at once what this front end still owns."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self.tenure is not None:
            self.tenure.end()
        await self._withdraw()

    def abandon(self) -> None:
        """Stop as a killed process would. For tests."""
        for task in self._tasks:
            task.cancel()
        if self.tenure is not None:
            self.tenure.end()

    async def find(self, incarnation: int) -> FrontEnd | None:
        """The front end of that incarnation; None if it has ended, which is final."""
        if all(each.incarnation != incarnation for each in self.front_ends):
            await self.look_again()
        return next((each for each in self.front_ends if each.incarnation == incarnation), None)

    async def look_again(self) -> None:
        """Read the records, unless that was done a moment ago."""
        asked_ms = self._monotonic_ms()
        async with self._looking:
            if self._looked_ms is None or self._looked_ms < asked_ms - LOOK_MS_MIN:
                await self._read()

    async def _begin(self, heartbeats: Heartbeats) -> bool:
        """Serve as this incarnation; False if a younger one was faster.

        An older one must not appear after a younger one has looked: both would lead.
        """
        await heartbeats.beat(FrontEndState.JOINING)
        await self._look()
        if any(each.incarnation > heartbeats.incarnation for each in self.front_ends):
            return False
        self._warn_of_namesakes()
        await self._outlast_others(heartbeats)
        sent_ms = self._monotonic_ms()
        if not await heartbeats.beat(FrontEndState.SERVING):
            return False
        trusted_ms = self._times.trusted_ms
        self.tenure = Tenure(heartbeats.incarnation, self._monotonic_ms, trusted_ms, sent_ms)
        await self._look()
        return True

    async def _withdraw(self) -> None:
        heartbeats, self._heartbeats = self._heartbeats, None
        self.tenure = None
        if heartbeats is not None:
            with contextlib.suppress(StoreUnreachable):
                # If this fails, the others wait until the lease has ended.
                await heartbeats.beat(FrontEndState.LEFT)

    async def _run(self) -> None:
        pause_ms = self._times.heartbeat_ms
        while True:
            await asyncio.sleep(pause_ms / 1_000)
            try:
                await self._round()
            except (DoveError, TimeoutError) as error:
                self._troubles.note(RENEWAL, error)
                lost = StoreUnreachable(self._database.name, "no answer in time")
                self.trouble = error if isinstance(error, StoreUnreachable) else lost
                pause_ms = self._times.heartbeat_ms // RETRIES_PER_HEARTBEAT
            else:
                self._troubles.end(RENEWAL)
                self.trouble = None
                pause_ms = self._times.heartbeat_ms

    async def _watch(self) -> None:
        """Look at the others between the heartbeats, and when one of them falls silent."""
        pause_ms = self._times.look_ms
        while True:
            await asyncio.sleep(pause_ms / 1_000)
            pause_ms = self._times.look_ms
            # A round fails for the same reason, and reports it.
            with contextlib.suppress(DoveError, TimeoutError):
                async with asyncio.timeout(self._times.lease_ms / 1_000):
                    await self._look()
                if self._due_ms is not None:
                    due_in_ms = self._due_ms - self._monotonic_ms()
                    pause_ms = min(pause_ms, max(due_in_ms, LOOK_MS_MIN))

    async def _round(self) -> None:
        if self._heartbeats and self.tenure:
            try:
                async with asyncio.timeout(self._times.lease_ms / 1_000):
                    await self._renew(self._heartbeats, self.tenure)
                    await self._look()
            finally:
                if not self.holds():
                    self._drop()
        if self.tenure is None:
            # The lost incarnation owns nothing now: nobody has to wait for the end of its lease.
            await self._withdraw()
            await self.join()

    async def _renew(self, heartbeats: Heartbeats, tenure: Tenure) -> None:
        sent_ms = self._monotonic_ms()
        if await heartbeats.beat():
            tenure.renew(sent_ms)
        else:
            tenure.end()

    def _drop(self) -> None:
        log.warning("front end %d has lost its lease: it joins again", self.incarnation)
        self.tenure = None
        self._dropped()

    async def _look(self) -> None:
        async with self._looking:
            await self._read()

    async def _read(self) -> None:
        """Read all records, declare the silent ones dead, and report a change."""
        records = self._database.records
        observed = [front_end_of(record) for record in await records.all(KIND)]
        now_ms = self._looked_ms = self._monotonic_ms()
        verdict = decide(observed, self._memory, now_ms, self.incarnation, self._times)
        self._memory, self._due_ms = verdict.memory, verdict.due_ms
        ended = {each.incarnation for each in verdict.silent if await declare_dead(records, each)}
        for incarnation in ended:
            log.warning("front end %d is dead: its partitions are taken", incarnation)
        living = (each for each in observed if not each.ended and each.incarnation not in ended)
        left = (each for each in observed if each.heartbeat.state is FrontEndState.LEFT)
        self.left = frozenset(each.incarnation for each in left)
        before = _outline(self.front_ends)
        self.front_ends = tuple(sorted(living, key=lambda each: each.incarnation))
        if before != _outline(self.front_ends):
            self._changed()
        for each in verdict.outdated:
            await records.remove(KIND, str(each.incarnation), each.version)

    async def _outlast_others(self, heartbeats: Heartbeats) -> None:
        """Wait until no other front end lives with which this one cannot serve.

        A living one shows itself by its next heartbeat, and then this one gives up.
        """
        first: dict[int, int] = {}
        while others := await self._in_the_way():
            for each, error in others:
                if each.incarnation not in first:
                    first[each.incarnation] = each.version
                    log.info(
                        "front end %d may still serve this store: waiting for its lease to end",
                        each.incarnation,
                    )
                elif first[each.incarnation] != each.version:
                    raise error
            await asyncio.sleep(self._times.heartbeat_ms / 1_000)
            await heartbeats.beat()
            await self._look()

    def _warn_of_namesakes(self) -> None:
        for each in self.front_ends:
            if each.incarnation != self.incarnation and self._address == each.address is not None:
                log.warning(
                    "front end %d has the address %s too: it is an earlier run of this one whose "
                    "lease has not ended, or one of them needs another --advertise",
                    each.incarnation,
                    each.address,
                )

    async def _in_the_way(self) -> list[tuple[FrontEnd, StoreUnusable]]:
        """The front ends with which this one cannot serve the store, and why."""
        others = [each for each in self.front_ends if each.incarnation != self.incarnation]
        errors = await asyncio.gather(*map(self._conflict, others))
        return [(each, error) for each, error in zip(others, errors, strict=True) if error]

    async def _conflict(self, other: FrontEnd) -> StoreUnusable | None:
        if self._address is None or other.address is None:
            return AnotherFrontEnd(self._database.name, other)
        reason = await self._refusal(other.address)
        return None if reason is None else FrontEndRefused(self._database.name, other, reason)


def _outline(front_ends: tuple[FrontEnd, ...]) -> list[tuple[int, FrontEndState]]:
    return [(each.incarnation, each.heartbeat.state) for each in front_ends]
