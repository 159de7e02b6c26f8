"""The driver of the controller: observes a queue, decides, and carries the decision out.

The leading front end does this once a second for each queue that sizes itself. The front end that
gets a new client does it before the client's election, if the queue must grow for it. An action and
the controller's memory of it are one compare-and-set of the queue, so that a driver may die at any
moment, and two of them do no harm: the one that loses reads the queue again and decides anew.
Exchanges follow from the next observation; they need no memory.
"""

import asyncio
import collections
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from dovemq.core.errors import DoveError
from dovemq.core.partitions import ControlMemory
from dovemq.core.ports import Catalogue, Clock
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.fabric.actuator import Placement, carried_out, free_number
from dovemq.fabric.autonomic import (
    ActionKind,
    ClientEvent,
    ClientJoins,
    ClientRole,
    ControlAction,
    ControlDecision,
    ControlSettings,
    SuggestedExchange,
    decide,
)
from dovemq.fabric.exchange import BATCH_COUNT_MAX, Exchange
from dovemq.fabric.load_view import LoadView

log = logging.getLogger(__name__)

ATTEMPTS_MAX: Final = 3
"""Compare-and-sets of one queue in one step. After that the next step tries."""
LOAD_LEFT_MAX: Final = 0.9
"""The highest load that a removal may leave to the others. With the paper's 1 the noise of measured
capacities would mark and unmark a partition forever."""
EXCHANGED_MAX: Final = 1_000
"""Messages of one queue that move in one step. With one step in a second it is the rate."""


_GROWTH: Final = (ActionKind.ADD, ActionKind.UNMARK)


class ControlRecord(Struct, frozen=True):
    """An action that was carried out; `partitions` is the number of active ones after it."""

    at_ms: int
    queue: QueueKey
    action: ControlAction
    partitions: int


class ControlRecorder(Protocol):
    def check(self) -> None:
        """Raises an error while actions cannot be recorded; none is carried out then."""

    def record(self, record: ControlRecord) -> Awaitable[None]:
        """Keep the record; done when it is durable."""


class Unrecorded:
    def check(self) -> None:
        """Do nothing: no action is recorded."""

    async def record(self, record: ControlRecord) -> None:
        return None


class PartitionController:
    """`changed` is called with each queue that was changed here."""

    def __init__(
        self,
        catalogue: Catalogue,
        view: LoadView,
        exchange: Exchange,
        clock: Clock,
        placement: Placement,
        changed: Callable[[Queue], None],
    ) -> None:
        self.recorder: ControlRecorder = Unrecorded()
        self.actions: collections.Counter[ActionKind] = collections.Counter()
        """Actions of this front end since its start."""
        self._catalogue = catalogue
        self._view = view
        self._exchange = exchange
        self._clock = clock
        self._placement = placement
        self._changed = changed
        self._growing: set[int] = set()
        """The numbers of queues that grow for a client at this moment."""

    async def step(self, queue: Queue) -> None:
        """Change the queue by at most one action; without one, exchange messages."""
        current: Queue | None = queue
        for _ in range(ATTEMPTS_MAX):
            if current is None or current.number != queue.number or not current.settings.auto:
                return
            decision, settings = self._planned(current)
            if settings == current.settings:
                await self._exchange_some(current, decision.exchanges)
                return
            if await self._replaced(current, settings, decision.action):
                return
            current = await self._catalogue.latest(queue.key)
        log.info("queue %s is changed by others all the time: it is sized later", queue.key)

    async def make_room(self, queue: Queue, role: ClientRole) -> None:
        """Let the queue grow for a client that is about to join, if nothing speaks against it.

        Everything else is left to the leading front end, also what fails here. Clients that come
        while the queue grows do not wait for it.
        """
        if queue.number in self._growing or not self._view.knows(queue):
            return
        decision, settings = self._planned(queue, ClientJoins(role))
        if decision.action is None or decision.action.kind not in _GROWTH:
            return
        self._growing.add(queue.number)
        # It goes on if the client leaves: what was changed is to be recorded.
        await asyncio.shield(self._grown(queue, settings, decision.action))

    async def _grown(self, queue: Queue, settings: QueueSettings, action: ControlAction) -> None:
        try:
            await self._replaced(queue, settings, action)
        except DoveError as error:
            log.warning("queue %s grows later: %s", queue.key, error)
        finally:
            self._growing.discard(queue.number)

    def _planned(
        self, queue: Queue, event: ClientEvent = None
    ) -> tuple[ControlDecision, QueueSettings]:
        """The decision, and the settings of the queue after it."""
        observation = self._view.observation(queue, event)
        wanted = control_settings(queue.settings, self._view.typical_capacity(queue))
        before = _shortened(queue.settings, observation.now_ms)
        decision, memory = decide(observation, before, wanted)
        action = decision.action
        if action is not None and action.kind is ActionKind.ADD:
            number = free_number(queue, before.last_number, self._placement)
            action = msgspec.structs.replace(action, partition=number)
            memory = msgspec.structs.replace(memory, last_number=number)
            decision = msgspec.structs.replace(decision, action=action)
        return decision, carried_out(queue.settings, action, memory)

    async def _replaced(
        self, queue: Queue, settings: QueueSettings, action: ControlAction | None
    ) -> bool:
        """Whether the queue has the new settings; False if another change came first."""
        self.recorder.check()
        if not await self._catalogue.replace(msgspec.structs.replace(queue, settings=settings)):
            return False
        found = await self._catalogue.find(queue.key)
        if found is not None and found.number == queue.number:
            self._changed(found)
        if action is not None:
            log.info("queue %s: %s", queue.key, action.text)
            self.actions[action.kind] += 1
            now_ms, count = self._clock.now_ms(), settings.partitions
            await self.recorder.record(ControlRecord(now_ms, queue.key, action, count))
        return True

    async def _exchange_some(self, queue: Queue, suggested: Sequence[SuggestedExchange]) -> None:
        for each in suggested:
            try:
                await self._exchange_one(queue, each)
            except DoveError as error:
                log.warning("queue %s exchanges messages later: %s", queue.key, error)

    async def _exchange_one(self, queue: Queue, suggested: SuggestedExchange) -> None:
        """Move what was suggested. Messages with a group leave a marked partition only.

        They then go to the partition of their group, as new messages of the group do.
        """
        leaves = suggested.source == queue.settings.control.marked
        targets = queue.settings.targets if leaves else (suggested.target,)
        left = suggested.count
        while left > 0:
            count = min(left, BATCH_COUNT_MAX)
            moved = await self._exchange.move(
                queue, suggested.source, targets, count, grouped=leaves
            )
            if moved < count:
                return
            left -= moved


def _shortened(settings: QueueSettings, now_ms: int) -> ControlMemory:
    """The memory with an inhibition that ends in time.

    It may be too long because its owner has shortened it since, or because another front end has
    begun it whose clock is ahead.
    """
    memory = settings.control
    latest_ms = now_ms + settings.inhibition_ms
    if memory.inhibited_until_ms <= latest_ms:
        return memory
    return msgspec.structs.replace(memory, inhibited_until_ms=latest_ms)


def control_settings(settings: QueueSettings, typical_capacity: float) -> ControlSettings:
    return ControlSettings(
        settings.partitions_min,
        settings.partitions_max,
        settings.inhibition_ms,
        capacity_start=typical_capacity,
        load_left_max=LOAD_LEFT_MAX,
        exchange_count_max=EXCHANGED_MAX,
    )
