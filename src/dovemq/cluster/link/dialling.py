"""The link to one other front end: dialled when it is first needed, and again when it was lost."""

import asyncio
import logging
import random
import ssl
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from dovemq.cluster.link.bounds import (
    CONNECT_SECONDS_MAX,
    GREETING_SECONDS_MAX,
    JITTER_SHARE,
    REFUSAL_SECONDS_MAX,
    REFUSED_SECONDS,
    RETRY_DOUBLINGS_MAX,
    RETRY_SECONDS_MAX,
    RETRY_SECONDS_MIN,
    STEADY_SECONDS,
    VERBS_IN_FLIGHT_MAX,
    WATCHES_MAX,
)
from dovemq.cluster.link.greeting import ClusterIdentity, DiallerGreeting
from dovemq.cluster.link.session import CallerSession
from dovemq.cluster.link.verbs import Verb
from dovemq.cluster.ports import PeerUnreachable
from dovemq.core.errors import Busy
from dovemq.stores.owned.group import PartitionKey

log = logging.getLogger(__name__)

WakeUp = Callable[[], None]


class Dialling(Struct, frozen=True):
    """The means to dial. `context` is None without TLS; `new_nonce` gives 32 secret bytes."""

    identity: ClusterIdentity
    rng: random.Random
    new_nonce: Callable[[], bytes]
    context: ssl.SSLContext | None = None


class OutgoingLink:
    """Verbs wait while an attempt to connect is under way, which has a time limit.

    Between two attempts they fail at once. Attempts go on while somebody watches; otherwise the
    next verb starts one.
    """

    def __init__(self, address: str, dialling: Dialling) -> None:
        self.address = address
        self._dialling = dialling
        self._loop = asyncio.get_running_loop()
        self._session: CallerSession | None = None
        self._attempt: asyncio.Task[None] | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._parked: list[tuple[Verb, asyncio.Future[Any]]] = []
        self._watches: dict[PartitionKey, dict[object, WakeUp]] = {}
        self._failures = 0
        """Attempts without a connection that lasted."""
        self._opened_at = 0.0
        self._closed = False
        self._hung_up = False
        self.cause = "it was not dialled yet"
        self.refused = False
        """Whether the last attempt ended because one side refused the other."""
        self.openings = 0

    @property
    def session(self) -> CallerSession | None:
        """The session, while it is open."""
        return self._session

    @property
    def idle(self) -> bool:
        """Nobody needs the link, and it has no connection."""
        return not (self._session or self._attempt or self._watches)

    def ask(self, verb: Verb) -> asyncio.Future[Any]:
        future = self._loop.create_future()
        if self._session is not None:
            self._session.ask(verb, future)
        elif self._retry is not None or self._closed:
            future.set_exception(PeerUnreachable(self.address, self.cause, sent=False))
        elif len(self._parked) >= VERBS_IN_FLIGHT_MAX:
            future.set_exception(Busy(f"Too much is under way to the front end at {self.address}"))
        else:
            self._parked.append((verb, future))
            self._dial()
        return future

    async def refusal(self) -> str | None:
        """Why one side refuses the other, after an attempt to connect; None if neither does."""
        if self._session is None and self._retry is None and not self._closed:
            self._dial()
        if self._attempt is not None:
            await asyncio.wait([self._attempt], timeout=REFUSAL_SECONDS_MAX)
        return self.cause if self._session is None and self.refused else None

    def cancel(self, verb: Verb, future: asyncio.Future[Any]) -> None:
        if self._session is not None:
            self._session.cancel(verb, future)

    def watch(self, place: PartitionKey, wake: WakeUp) -> Callable[[], None]:
        if len(self._watches) >= WATCHES_MAX and place not in self._watches:
            raise Busy(f"Too many queues are watched at the front end at {self.address}")
        watchers = self._watches.setdefault(place, {})
        if not watchers:
            if self._session is not None:
                self._session.watch(place)
            elif self._retry is None and not self._closed:
                self._dial()
        key = object()
        watchers[key] = wake
        return lambda: self._unwatch(place, key)

    def hang_up(self, cause: str) -> None:
        """End the connection. The next verb or watch dials again, at once."""
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._failures = 0
        self.cause = cause
        if self._attempt is not None:
            self._attempt.cancel()
            self._attempt = None
        self._fail_parked()
        if self._session is not None:
            self._hung_up = True
            self._session.channel.fail(cause)

    async def close(self) -> None:
        self._closed = True
        cause = "this front end closed the link"
        if self._session is not None:
            self._session.channel.close(cause)
        attempt = self._attempt
        self.hang_up(cause)
        if attempt is not None:
            await asyncio.gather(attempt, return_exceptions=True)

    # Called by the session.

    def session_opened(self, session: CallerSession) -> None:
        self._session = session
        self._hung_up = False
        self._opened_at = self._loop.time()
        self.openings += 1
        if session.peer is not None:
            peer = session.peer
            log.info("linked with %s (%s, %s)", self.address, peer.incarnation, peer.product)
        for place in self._watches:
            session.watch(place)
        parked, self._parked = self._parked, []
        for verb, future in parked:
            if not future.done():
                session.ask(verb, future)
        if self.openings > 1 or self._failures:
            self._wake_all()

    def session_ended(self, session: CallerSession, cause: str, *, rejected: bool) -> None:
        """An ended attempt is counted by `_dial_once`; an ended session is dialled again."""
        if session is not self._session:
            return
        self._session = None
        self.cause = cause
        if self._closed:
            return
        if session.leaving:
            log.info("the front end at %s has stopped", self.address)
            self._retry_later()
        elif not self._hung_up:
            log.warning("the link to %s was lost: %s", self.address, cause)
            self._redial()
        self._wake_all()

    def woken(self, place: PartitionKey) -> None:
        for wake in list(self._watches.get(place, {}).values()):
            wake()

    def _wake_all(self) -> None:
        """Hints may have been missed."""
        for place in list(self._watches):
            self.woken(place)

    def _unwatch(self, place: PartitionKey, key: object) -> None:
        watchers = self._watches.get(place)
        if watchers is None or watchers.pop(key, None) is None or watchers:
            return
        del self._watches[place]
        if self._session is not None:
            self._session.unwatch(place)

    def _dial(self) -> None:
        if self._attempt is None:
            self._attempt = self._loop.create_task(self._dial_once())

    async def _dial_once(self) -> None:
        attempt = _Attempt(self, self._dialling)
        try:
            cause = await attempt.run()
        finally:
            if self._attempt is asyncio.current_task():
                self._attempt = None
        self.refused = attempt.rejected
        if cause is None:
            return
        self.cause = cause
        if attempt.rejected or not self._failures:
            log.warning("no link to %s: %s; it is tried again", self.address, cause)
        self._fail_parked()
        self._retry_later(REFUSED_SECONDS if attempt.rejected else None)

    def _fail_parked(self) -> None:
        parked, self._parked = self._parked, []
        for _, future in parked:
            if not future.done():
                future.set_exception(PeerUnreachable(self.address, self.cause, sent=False))

    def _redial(self) -> None:
        """Dial at once, unless the last connection was short: then others may be short too."""
        if self._loop.time() - self._opened_at < STEADY_SECONDS:
            self._retry_later()
            return
        self._failures = 0
        if self._watches:
            self._dial()

    def _retry_later(self, wait: float | None = None) -> None:
        if wait is None:
            doublings = min(self._failures, RETRY_DOUBLINGS_MAX)
            wait = min(RETRY_SECONDS_MAX, RETRY_SECONDS_MIN * 2**doublings)
        self._failures += 1
        share = 1 - JITTER_SHARE * self._dialling.rng.random()
        self._retry = self._loop.call_later(wait * share, self._waited)

    def _waited(self) -> None:
        self._retry = None
        if self._watches and not self._closed:
            self._dial()


class _Attempt:
    """One attempt to connect and to greet. Its session belongs to the link once it is open."""

    def __init__(self, link: OutgoingLink, dialling: Dialling) -> None:
        self._link = link
        self._dialling = dialling
        self._over: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.rejected = False

    async def run(self) -> str | None:
        """The cause of the failure, or None if the session is open."""
        session = CallerSession(self._link.address, self, self._make_greeting)
        host, _, port = self._link.address.rpartition(":")
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX + GREETING_SECONDS_MAX):
                async with asyncio.timeout(CONNECT_SECONDS_MAX):
                    await asyncio.get_running_loop().create_connection(
                        lambda: session.channel,
                        host.strip("[]"),
                        int(port),
                        ssl=self._dialling.context,
                    )
                return await self._over
        except (OSError, ValueError, TimeoutError) as error:
            session.channel.fail("the attempt took too long")
            # A listener without TLS ends the connection when the handshake begins.
            tls = self._dialling.context is not None and isinstance(error, ConnectionResetError)
            self.rejected = tls or isinstance(error, ssl.SSLError)
            return _TLS_FAILED if tls else _cause(error)
        except asyncio.CancelledError:
            session.channel.fail("this front end closed the link")
            raise

    def session_opened(self, session: CallerSession) -> None:
        if self._over.done():
            session.channel.fail("the attempt had ended")
            return
        self._over.set_result(None)
        self._link.session_opened(session)

    def session_ended(self, session: CallerSession, cause: str, *, rejected: bool) -> None:
        self.rejected = rejected
        if not self._over.done():
            self._over.set_result(cause)
        self._link.session_ended(session, cause, rejected=rejected)

    def woken(self, place: PartitionKey) -> None:
        self._link.woken(place)

    def _make_greeting(self, fingerprint: bytes) -> DiallerGreeting:
        dialling = self._dialling
        return DiallerGreeting(dialling.identity, dialling.new_nonce(), fingerprint)


_TLS_FAILED: Final = "the TLS handshake was ended: turn TLS on for all front ends or for none"


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no connection within {CONNECT_SECONDS_MAX:g} s"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason}): turn TLS on for all front ends or for none"
    return (isinstance(error, OSError) and error.strerror) or str(error)
