"""The accepting side of all links of a front end: its socket, greetings, refusals, drain."""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from dovemq.cluster.link.bounds import (
    ADDRESSES_MAX,
    CONNECTIONS_MAX,
    DRAIN_SECONDS_MAX,
    FAILURE_SECONDS,
    FAILURES_MAX,
    GREETING_SECONDS_MAX,
    GREETINGS_MAX,
)
from dovemq.cluster.link.channel import Channel
from dovemq.cluster.link.greeting import (
    AcceptorGreeting,
    ClusterIdentity,
    Hello,
    LinkRejected,
    reason_for_bytes,
    refusal,
)
from dovemq.cluster.link.links import READABLE, is_loopback
from dovemq.cluster.link.serving import ServedVerbs
from dovemq.cluster.link.tls import AcceptingContexts, LinkCertificate
from dovemq.cluster.ports import Local
from dovemq.core.ports import Clock

log = logging.getLogger(__name__)


class Refusals:
    """Failed greetings of each address; too many of them, and the address is not listened to."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failures: dict[str, tuple[float, int]] = {}

    def note(self, address: str) -> None:
        since, count = self._failures.pop(address, (0.0, 0))
        if self._now() - since > FAILURE_SECONDS:
            since, count = self._now(), 0
        if len(self._failures) >= ADDRESSES_MAX:
            del self._failures[next(iter(self._failures))]
        self._failures[address] = (since, count + 1)

    def bans(self, address: str) -> bool:
        since, count = self._failures.get(address, (0.0, 0))
        return count >= FAILURES_MAX and self._now() - since <= FAILURE_SECONDS


class LinkListener:
    """Accepts links. `certificate` gives the newest certificate; None is without TLS."""

    def __init__(
        self,
        local: Local,
        clock: Clock,
        identity: ClusterIdentity,
        new_nonce: Callable[[], bytes],
        certificate: Callable[[], LinkCertificate] | None = None,
    ) -> None:
        identity.check()
        self.local = local
        self.clock = clock
        self.identity = identity
        self.new_nonce = new_nonce
        self.contexts = AcceptingContexts(certificate) if certificate is not None else None
        self.background: set[asyncio.Task[None]] = set()
        self.greeting: dict[IncomingLink, None] = {}
        self.linked: dict[IncomingLink, None] = {}
        self.refusals = Refusals(asyncio.get_running_loop().time)
        self._emptied = asyncio.Event()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen; `OSError` if that is impossible."""
        if self.contexts is None and not is_loopback(host):
            log.warning("links to %s have no TLS: %s", host, READABLE)
        self._server = await asyncio.get_running_loop().create_server(
            lambda: IncomingLink(self).channel,
            host,
            port,
            ssl=self.contexts.context if self.contexts is not None else None,
            ssl_handshake_timeout=GREETING_SECONDS_MAX if self.contexts is not None else None,
        )

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def admit(self, link: "IncomingLink") -> bool:
        """Whether a new connection may greet; the oldest greeting makes room for it."""
        if self.refusals.bans(link.channel.peer_address) or len(self.linked) >= CONNECTIONS_MAX:
            return False
        if len(self.greeting) >= GREETINGS_MAX:
            next(iter(self.greeting)).channel.fail("other connections took its place")
        self.greeting[link] = None
        return True

    def welcome(self, link: "IncomingLink") -> None:
        self.greeting.pop(link, None)
        self.linked[link] = None

    def forget(self, link: "IncomingLink") -> None:
        self.greeting.pop(link, None)
        self.linked.pop(link, None)
        if not self.linked:
            self._emptied.set()

    async def drain(self, seconds: float = DRAIN_SECONDS_MAX) -> bool:
        """Accept no link, and answer all verbs that arrive until the other sides have hung up.

        False if they did not within the time.
        """
        if self._server is not None:
            self._server.close()
        for link in list(self.greeting):
            link.channel.fail("this front end stops")
        for link in list(self.linked):
            link.say_goodbye()
        if self.linked:
            self._emptied.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._emptied.wait(), seconds)
        return not self.linked

    async def close(self) -> None:
        """End all connections, and wait until their leases are taken back."""
        await self.drain(0)
        for link in list(self.linked):
            link.channel.fail("this front end stopped")
        if self.linked:
            self._emptied.clear()
            await self._emptied.wait()
        while self.background:
            await asyncio.wait(list(self.background))


class IncomingLink:
    """One accepted connection: first a greeting, then verbs."""

    def __init__(self, listener: LinkListener) -> None:
        self._listener = listener
        self._greeting: AcceptorGreeting | None = None
        self._verbs: ServedVerbs | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._address = ""
        self.peer: Hello | None = None
        self.channel = Channel(self)

    def say_goodbye(self) -> None:
        if self._verbs is not None:
            self._verbs.say_goodbye()

    # Called by the channel.

    def opened(self) -> None:
        listener, channel = self._listener, self.channel
        self._address = channel.peer_address
        if not listener.admit(self):
            channel.fail("it was refused too often")
            return
        fingerprint = b""
        if listener.contexts is not None:
            fingerprint = listener.contexts.fingerprint(channel.ssl_object)
        self._greeting = AcceptorGreeting(listener.identity, listener.new_nonce(), fingerprint)
        self._deadline = asyncio.get_running_loop().call_later(
            GREETING_SECONDS_MAX, self._reject, "it did not finish its greeting in time"
        )

    def frame_received(self, payload: memoryview) -> None:
        if self._verbs is not None:
            self._verbs.frame_received(payload)
        elif self._greeting is not None:
            self._greet(self._greeting, payload)

    def ticked(self) -> None:
        """Verbs have their time limit on the side that asked them."""

    def written(self) -> None:
        if self._verbs is not None:
            self._verbs.written()

    def lost(self, cause: str) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        if self._verbs is not None:
            log.info("the link from %s ended: %s", self._address, cause)
            self._verbs.lost()
        self._listener.forget(self)

    def unreadable(self, start: bytes) -> str:
        if self._verbs is not None:
            return "a frame is too long"
        reason = reason_for_bytes(start)
        self._note(reason)
        return reason

    def _greet(self, greeting: AcceptorGreeting, payload: memoryview) -> None:
        try:
            answer = greeting.answer(payload)
        except LinkRejected as error:
            self._reject(str(error))
            return
        self.channel.greet(answer)
        if greeting.peer is not None:
            self._begin(greeting, greeting.peer)

    def _begin(self, greeting: AcceptorGreeting, peer: Hello) -> None:
        assert self._deadline is not None
        self._deadline.cancel()
        self.peer = peer
        listener, channel = self._listener, self.channel
        keys = greeting.keys() if listener.contexts is None else None
        channel.begin(
            key_in=keys.from_dialler if keys else None, key_out=keys.from_acceptor if keys else None
        )
        self._verbs = ServedVerbs(channel, listener.local, listener.clock, listener.background)
        listener.welcome(self)
        log.info("linked from %s (%s, %s)", self._address, peer.incarnation, peer.product)

    def _reject(self, reason: str) -> None:
        self._note(reason)
        self.channel.greet(refusal(reason))
        self.channel.close(reason)

    def _note(self, reason: str) -> None:
        log.warning("refused a link from %s: %s", self._address, reason)
        self._listener.refusals.note(self._address)
