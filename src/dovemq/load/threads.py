"""The common part of senders and receivers: a coroutine with one connection, and its end."""

import abc
import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from msgspec import Struct

from dovemq.client import ClientError, Refused, SqsClient
from dovemq.client.errors import Unconnected
from dovemq.load.counters import WorkerCounters
from dovemq.load.pacing import ClosedPace, GaveUp, OpenPace, Outage, RequestPace, absence_us
from dovemq.load.plan import Endpoint, LoadPlan

_SERVER_ERROR: Final = 500


class Share(Struct, frozen=True):
    """The part of a repetition that one process runs.

    Threads are assigned to processes in turn. `journals` is a directory. `clock_offset_us` turns
    the machine's monotonic clock, which all processes share, into microseconds since 1970.
    """

    plan: LoadPlan
    repetition: int
    number: int
    queue_urls: tuple[str, ...]
    journals: str
    clock_offset_us: int

    @property
    def run(self) -> str:
        return self.plan.run_name(self.repetition)

    @property
    def queue_names(self) -> tuple[str, ...]:
        numbers = range(self.plan.applications)
        return tuple(self.plan.queue_name(self.repetition, number) for number in numbers)

    def rng(self, kind: str, number: int) -> random.Random:
        return random.Random(f"{self.plan.seed}/{self.repetition}/{kind}/{number}")


@dataclass(eq=False)
class Thread(abc.ABC):
    """Connects at its first request, and again after a connection has broken."""

    KIND: ClassVar[str]
    share: Share
    number: int
    counters: WorkerCounters
    now_us: Callable[[], int]
    stopping: bool = field(default=False, init=False)
    busy: bool = field(default=False, init=False)
    """A request is under way whose answer must be awaited."""
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.plan = self.share.plan
        self.run_name = self.share.run
        self.rng = self.share.rng(self.KIND, self.number)
        self.outage = Outage(self.plan.outage_ms_max, self.rng, self.now_us)
        self._turn = self.number
        """Counts up with each change of the endpoint; the first clients are spread by number."""
        self.client = self.new_client()

    def start(self, starts_us: int) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(starts_us))
        self._task.add_done_callback(self._note_end)

    @property
    def done(self) -> bool:
        """Returns False also for a thread that is not started yet."""
        return self._task is not None and self._task.done()

    def stop(self) -> None:
        """Stops the thread. A send or settle that is under way is finished; a wait is cancelled."""
        self.stopping = True
        if self._task is not None and not self.busy:
            self._task.cancel()

    async def ended(self, seconds_max: float) -> None:
        """Waits for the end of the thread, and cancels it after `seconds_max`."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=seconds_max)
            self._task.cancel()
            await asyncio.wait([self._task])
        await self.client.close()

    def raise_failure(self) -> None:
        """Raises the error that ended the thread, unless it was a failure of the service."""
        if self._task is not None and self.done and not self._task.cancelled():
            self._task.result()

    async def failed(self, error: ClientError) -> None:
        """Waits after a failure of the service, and goes on at the next endpoint if there is one.

        Raises `GaveUp` at the end of the longest outage.
        """
        await self.outage.failed(error)
        if self.plan.further_endpoints:
            await self.client.close()
            self._turn += 1
            self.client = self.new_client()

    def new_client(self) -> SqsClient:
        endpoints = self.plan.endpoints
        return client_of(
            endpoints[self._turn % len(endpoints)],
            connections_max=1,
            # The journal must record every attempt, so the client repeats nothing by itself.
            attempts_max=1,
            answer_seconds_max=self.plan.answer_ms_max / 1_000,
        )

    async def attend(self, clients: int, starts_us: int) -> None:
        """Wait while this client of a load in waves is away; it has no connection then.

        `clients` is the number of clients of this kind that a queue has.
        """
        if self.plan.wave_seconds is None:
            return
        elapsed_us, wave_us = self.now_us() - starts_us, round(self.plan.wave_seconds * 1e6)
        away_us = absence_us(self.number % clients, clients, max(elapsed_us, 0), wave_us)
        if away_us:
            await self.client.close()
            self.client = self.new_client()
            await asyncio.sleep(away_us / 1e6)

    def pace(
        self, starts_us: int, rate: float | None, clients: int, pause_ms: int = 0
    ) -> RequestPace:
        """Returns the times of the requests; `rate` is that of all clients together."""
        plan = self.plan
        if rate is None:
            return ClosedPace(pause_ms, self.now_us)
        return OpenPace(
            1e6 * clients / rate,
            plan.arrivals,
            starts_us,
            self.rng,
            self.now_us,
            punctual=plan.punctual,
        )

    async def _run(self, starts_us: int) -> None:
        await asyncio.sleep(max(0, starts_us - self.now_us()) / 1e6)
        try:
            await self.work(starts_us)
        except GaveUp as error:
            self._note_failure(str(error))

    def _note_end(self, task: asyncio.Task[None]) -> None:
        """Ends the run if a thread fails; otherwise the run would wait for it."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._note_failure(f"{type(error).__name__} in a client")

    def _note_failure(self, failure: str) -> None:
        self.counters.news.failure = self.counters.news.failure or failure

    @abc.abstractmethod
    async def work(self, starts_us: int) -> None: ...


def client_of(endpoint: Endpoint, **options: Any) -> SqsClient:
    """Returns a client of the endpoint; `options` are those of SqsClient."""
    return SqsClient(
        endpoint.url,
        endpoint.key,
        region=endpoint.region,
        ca_bundle=Path(endpoint.ca_bundle) if endpoint.ca_bundle else None,
        **options,
    )


def is_certain(error: ClientError) -> bool:
    """Tells whether the request was certainly not done. A server that fails may have done it."""
    if isinstance(error, Refused):
        return error.status < _SERVER_ERROR
    return isinstance(error, Unconnected)
