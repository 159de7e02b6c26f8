"""The loop that sizes the service itself: front ends by response time, the store by bytes.

Front ends are decided by the scheduler of consumers, with its hysteresis and its cool-down, the
store by `storage.py`. Each part has an allocator of its own; one that cannot be read holds the
other one up no longer than its requests take.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from dovemq.client.errors import ClientError
from dovemq.core.ports import Clock
from dovemq.workflows.sizing.allocators.ports import Allocator
from dovemq.workflows.sizing.decisions import SizingCause, SizingDecision
from dovemq.workflows.sizing.front_ends import (
    FRONT_ENDS,
    ROUTES,
    FrontEndWindow,
    RequestTotals,
)
from dovemq.workflows.sizing.rounds import ToldOnce, repeat_rounds
from dovemq.workflows.sizing.scheduler import SizingMemory, SizingObservation, decide
from dovemq.workflows.sizing.settings import SizingSettings
from dovemq.workflows.sizing.storage import STORE, StorageSettings, decide_storage


class ServiceSource(Protocol):
    """The service as the monitor sees it, over the admin API.

    Front ends that do not answer are absent; if none does, `totals` raises `ClientError`.
    """

    async def totals(self) -> Mapping[str, RequestTotals]: ...

    async def stored_bytes(self) -> int: ...


class ServiceGoals(Struct, frozen=True):
    """Goals of the parts; a part without one is left alone."""

    front_ends: SizingSettings | None = None
    store: StorageSettings | None = None
    window_ms: int = 60_000


class ServiceSizing:
    """One round after another; a part that cannot be read is reported, and tried again."""

    def __init__(
        self,
        source: ServiceSource,
        allocators: Mapping[str, Allocator],
        clock: Clock,
        goals: ServiceGoals,
        *,
        record: Callable[[SizingDecision], None],
        report: Callable[[str], None],
    ) -> None:
        """`allocators` has one for each part that has a goal."""
        self._source, self._allocators, self._clock = source, allocators, clock
        self._goals, self._record = goals, record
        self._tell = ToldOnce(report)
        self._window = FrontEndWindow(goals.window_ms)
        self._memory = SizingMemory()
        self._grown_ms: int | None = None
        self._wanted: dict[str, int] = {}

    async def run(self, stopped: Awaitable[object], every_seconds: float) -> None:
        """Works until `stopped` is done."""
        await repeat_rounds(self.round, stopped, every_seconds)

    async def look(self) -> None:
        """Reads the totals of front ends and decides nothing: rates need two looks."""
        self._window.add(self._clock.now_ms(), await self._source.totals())

    async def round(self) -> list[SizingDecision]:
        """The decisions of all parts with a goal, carried out."""
        found: list[SizingDecision] = []
        troubles: list[str] = []
        parts = {FRONT_ENDS: self._goals.front_ends, STORE: self._goals.store}
        for part in [name for name, goal in parts.items() if goal is not None]:
            try:
                present = await self._present(part)
                decision = await (
                    self._front_ends(present) if part == FRONT_ENDS else self._store(present)
                )
            except ClientError as error:
                troubles.append(f"{part}: the service cannot be read: {error}")
                # Front ends that died must come back, or it would never be read again.
                troubles += await self._carried_out(part)
                continue
            except _Blind:
                name = self._allocators[part].name
                troubles.append(f"{part}: their present number cannot be read ({name})")
                continue
            self._wanted |= decision.after
            self._record(decision)
            troubles += await self._carried_out(part)
            found.append(decision)
        self._tell(troubles)
        return found

    async def _carried_out(self, part: str) -> Sequence[str]:
        """Asks for what is wanted, as in every round; the troubles of the allocator."""
        wanted = {part: self._wanted[part]} if part in self._wanted else {}
        return await self._allocators[part].allocate(wanted)

    async def _present(self, part: str) -> int:
        """The number that was wanted last, or what the allocator finds at the start."""
        if part not in self._wanted:
            self._wanted |= await self._allocators[part].consumers([part])
        if part not in self._wanted:
            raise _Blind
        return self._wanted[part]

    async def _front_ends(self, present: int) -> SizingDecision:
        assert self._goals.front_ends is not None
        try:
            totals = await self._source.totals()
        except ClientError:
            # The first front ends must be started before any can answer.
            if present >= self._goals.front_ends.bounds_of(FRONT_ENDS).least:
                raise
            totals = {}
        self._window.add(self._clock.now_ms(), totals)
        observation = SizingObservation(self._window.workload(), ROUTES, {FRONT_ENDS: present})
        decision, self._memory = decide(observation, self._memory, self._goals.front_ends)
        return decision

    async def _store(self, present: int) -> SizingDecision:
        assert self._goals.store is not None
        now_ms, stored = self._clock.now_ms(), await self._source.stored_bytes()
        decision = decide_storage(now_ms, stored, present, self._grown_ms, self._goals.store)
        if decision.cause is SizingCause.FULL:
            self._grown_ms = now_ms
        return decision


class _Blind(Exception):
    """The present number of a part is not known."""
