"""A link between front ends of one process, which can be cut."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from dovemq.cluster.ports import Local, PeerUnreachable
from dovemq.cluster.routing import RoutedPartition, Verb
from dovemq.core.commands import Ask, Leased
from dovemq.core.ports import Clock, Partition
from dovemq.core.queue import Queue
from dovemq.stores.owned.group import PartitionKey

T = TypeVar("T")


class Network:
    """The front ends by their addresses, and the pairs that cannot reach each other."""

    def __init__(self) -> None:
        self.listening: dict[str, tuple[Local, Clock]] = {}
        self.refusals: dict[str, str] = {}
        """Why the front end at an address is refused by those that join."""
        self.hops = 0
        self._cut: set[frozenset[str]] = set()
        self._watching: list[tuple[str, str, Callable[[], None]]] = []

    def cut(self, one: str, other: str) -> None:
        self._cut.add(frozenset((one, other)))
        self._lose(lambda here, there: {here, there} == {one, other})

    def mend(self) -> None:
        self._cut.clear()

    def end(self, address: str) -> None:
        """The front end at that address is gone."""
        self.listening.pop(address, None)
        self._lose(lambda _, there: there == address)

    def reach(self, here: str, there: str) -> tuple[Local, Clock]:
        if there not in self.listening or frozenset((here, there)) in self._cut:
            raise PeerUnreachable(there, "it does not listen", sent=False)
        return self.listening[there]

    def watching(self, here: str, there: str, wake: Callable[[], None]) -> None:
        self._watching.append((here, there, wake))

    def _lose(self, broken: Callable[[str, str], bool]) -> None:
        for here, there, wake in self._watching:
            if broken(here, there):
                wake()


class NetworkLink:
    """Implements `cluster.ports.Link` for the front end at `here`."""

    def __init__(self, network: Network, here: str) -> None:
        self._network = network
        self._here = here
        self.forgotten: list[str] = []

    def partition(self, address: str, queue: Queue, place: PartitionKey) -> Partition:
        return _Remote(self._network, self._here, address, place, queue.version)

    async def refusal(self, address: str) -> str | None:
        return self._network.refusals.get(address)

    def forget(self, address: str) -> None:
        self.forgotten.append(address)

    async def close(self) -> None:
        self._network.end(self._here)


class _Remote(RoutedPartition):
    def __init__(
        self, network: Network, here: str, there: str, place: PartitionKey, version: int
    ) -> None:
        self._network = network
        self._here = here
        self._there = there
        self._place = place
        self._version = version

    async def route(self, verb: Verb[T], now_ms: int, *, repeatable: bool = True) -> T:
        local, clock = self._network.reach(self._here, self._there)
        self._network.hops += 1
        answer = await verb(local.partition(*self._place, self._version), clock.now_ms())
        try:
            self._network.reach(self._here, self._there)
        except PeerUnreachable as error:
            raise PeerUnreachable(self._there, error.cause, sent=True) from None
        return answer

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        leased = await super().lease(ask, now_ms)
        if leased.next_due_ms is None:
            return leased
        return msgspec.structs.replace(leased, next_due_ms=leased.next_due_ms - self._ahead(now_ms))

    def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> Awaitable[int]:
        return super().drop(sent_before_ms + self._ahead(now_ms), count_max, now_ms)

    def _ahead(self, now_ms: int) -> int:
        """How far the other front end's clock is ahead."""
        _, clock = self._network.reach(self._here, self._there)
        return clock.now_ms() - now_ms

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._network.watching(self._here, self._there, wake)
        try:
            local, _ = self._network.reach(self._here, self._there)
        except PeerUnreachable:
            return lambda: None
        return local.partition(*self._place, self._version).watch(wake)
