"""The running server: its two listeners, its shutdown, and the signals that start it."""

import asyncio
import resource
import signal
from collections.abc import Awaitable, Callable
from typing import Final

from dovemq.core.errors import DoveError
from dovemq.core.ports import Clock
from dovemq.server.answers import ADMIN_METHODS
from dovemq.server.certificates import LOOK_SECONDS, Certificates
from dovemq.server.limits import HttpLimits
from dovemq.server.listener import Listener
from dovemq.server.proxies import Proxies
from dovemq.server.traffic import CheckHead, Handle, Traffic

DESCRIPTORS_SPARE: Final = 1_024
"""Open files besides connections: those of the store, and clients that are refused."""


class ListenFailed(DoveError):
    """The server cannot listen on an address."""

    def __init__(self, host: str, port: int, flag: str, found: str) -> None:
        super().__init__(f"cannot listen on {host} port {port}: {found}; choose another by {flag}")


class Server:
    def __init__(
        self,
        sqs_handle: Handle,
        admin_handle: Handle | None,
        *,
        host: str,
        port: int,
        admin_port: int,
        admin_host: str | None = None,
        limits: HttpLimits,
        clock: Clock,
        certificates: Certificates | None = None,
        proxies: Proxies | None = None,
        now_ns: Callable[[], int] | None = None,
        check_head: CheckHead | None = None,
    ) -> None:
        self._place = (host, port, "--port")
        self._admin_place = (admin_host or host, admin_port, "--admin-port")
        self._certificates = certificates
        self._look_timer: asyncio.TimerHandle | None = None
        traffic = Traffic(
            sqs_handle, limits, clock, proxies=proxies, now_ns=now_ns, check_head=check_head
        )
        self._sqs = Listener(traffic, certificates)
        self._admin = None
        if admin_handle:
            traffic = Traffic(
                admin_handle, limits.for_admin(), clock, ADMIN_METHODS, proxies=proxies
            )
            self._admin = Listener(traffic, certificates)

    async def start(self) -> None:
        await _listen(self._sqs, *self._place)
        if self._admin is not None:
            try:
                await _listen(self._admin, *self._admin_place)
            except ListenFailed:
                await self._sqs.close()
                raise
        if self._certificates is not None:
            self._look_later(self._certificates)

    @property
    def port(self) -> int:
        return self._sqs.port

    @property
    def admin_port(self) -> int | None:
        return self._admin.port if self._admin is not None else None

    @property
    def connections(self) -> int:
        return len(self._sqs.traffic.connections)

    @property
    def requests(self) -> int:
        return self._sqs.traffic.requests

    @property
    def leaving(self) -> bool:
        return self._sqs.traffic.leaving

    def begin_leaving(self) -> None:
        """Serve on, and let clients close their connections after the next answer."""
        self._sqs.traffic.leaving = True

    async def drain(self, seconds: float, end_polls: Callable[[], Awaitable[None]]) -> bool:
        """Answer pending requests, accept no new ones, then close; True if no client was cut off.

        `end_polls` answers parked long polls, which would otherwise use up the time.
        """
        listeners = self._listeners
        for listener in listeners:
            listener.stop_accepting()
        await end_polls()
        emptied = await asyncio.gather(*(listener.emptied(seconds) for listener in listeners))
        await self.close()
        return all(emptied)

    async def close(self) -> None:
        if self._look_timer is not None:
            self._look_timer.cancel()
            self._look_timer = None
        for listener in self._listeners:
            await listener.close()

    def _look_later(self, certificates: Certificates) -> None:
        loop = asyncio.get_running_loop()
        self._look_timer = loop.call_later(LOOK_SECONDS, self._look, certificates)

    def _look(self, certificates: Certificates) -> None:
        self._look_later(certificates)
        certificates.look()

    @property
    def _listeners(self) -> list[Listener]:
        return [self._sqs] if self._admin is None else [self._sqs, self._admin]


async def _listen(listener: Listener, host: str, port: int, flag: str) -> None:
    try:
        await listener.start(host, port)
    except (OSError, UnicodeError) as error:
        found = (isinstance(error, OSError) and error.strerror) or str(error)
        raise ListenFailed(host, port, flag, found) from None


async def until_stopped() -> None:
    """Wait for SIGTERM or SIGINT. After that a second signal ends the process at once."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()

    def stop() -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        stopped.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop)
    await stopped.wait()


def reload_on_hangup(certificates: Certificates) -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, certificates.reload)


def allow_connections(count: int) -> None:
    """Raise the soft limit of open files for `count` connections, as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + DESCRIPTORS_SPARE
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
