"""The clients of each queue at this front end: who sends to it and who receives from it.

A client is a connection in one role at one queue. It is forgotten when its connection ends, when it
was silent for an hour, or when the table is full and it was silent longest.
"""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.core.queue import QueueKey
from dovemq.core.sessions import SESSION, ClientSession

CLIENTS_MAX: Final = 20_000
SILENT_MS_MAX: Final = limits.HOUR_MS

_Place = tuple[QueueKey, str, str]


class QueueClient(Struct):
    """`agent` is the User-Agent header of the first request."""

    peer: str
    account: str
    producer: bool
    agent: str
    first_ms: int
    last_ms: int
    requests: int = 0


class Clients:
    def __init__(self, clients_max: int = CLIENTS_MAX) -> None:
        self._clients_max = clients_max
        # The longest silent first.
        self._clients: OrderedDict[_Place, QueueClient] = OrderedDict()
        self._of_queue: dict[QueueKey, dict[_Place, None]] = {}
        self._of_session: dict[ClientSession, dict[_Place, None]] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def saw(
        self, key: QueueKey, peer: str, account: str, agent: str, now_ms: int, *, producer: bool
    ) -> None:
        """Count a request of a client to a queue, in the context of its session."""
        place = (key, peer, "p" if producer else "c")
        client = self._clients.get(place)
        if client is None:
            client = self._add(place, QueueClient(peer, account, producer, agent, now_ms, now_ms))
        else:
            self._clients.move_to_end(place)
        client.last_ms = now_ms
        client.requests += 1

    def of_queue(self, key: QueueKey, now_ms: int) -> list[QueueClient]:
        """The clients of a queue, the one that asked last first."""
        self._forget_silent(now_ms)
        found = [self._clients[place] for place in self._of_queue.get(key, ())]
        return sorted(found, key=lambda client: -client.last_ms)

    def consumers(self, key: QueueKey, since_ms: int) -> int:
        """The number of clients that have received, or tried to, since then."""
        places = self._of_queue.get(key, ())
        clients = (self._clients[place] for place in places)
        return sum(not each.producer and each.last_ms >= since_ms for each in clients)

    def _add(self, place: _Place, client: QueueClient) -> QueueClient:
        if len(self._clients) >= self._clients_max:
            self._drop(next(iter(self._clients)))
        self._clients[place] = client
        self._of_queue.setdefault(place[0], {})[place] = None
        session = SESSION.get()
        if session is not None and not session.ended:
            places = self._of_session.get(session)
            if places is None:
                places = self._of_session[session] = {}
                session.when_ended(self._ended)
            places[place] = None
        return client

    def _ended(self, session: ClientSession) -> None:
        for place in self._of_session.pop(session, ()):
            if place in self._clients:
                self._drop(place)

    def _forget_silent(self, now_ms: int) -> None:
        while self._clients:
            place, client = next(iter(self._clients.items()))
            if now_ms - client.last_ms <= SILENT_MS_MAX:
                return
            self._drop(place)

    def _drop(self, place: _Place) -> None:
        del self._clients[place]
        places = self._of_queue[place[0]]
        del places[place]
        if not places:
            del self._of_queue[place[0]]
