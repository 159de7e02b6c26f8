"""Free ports of this machine for servers whose ports must be known before they start."""

import random
import socket
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from dovemq.core.errors import DoveError

LOOPBACK: Final = "127.0.0.1"
_ATTEMPTS_MAX: Final = 200

Endpoint = tuple[str, int]


class PortsTaken(DoveError):
    def __init__(self, count: int, among: Sequence[int]) -> None:
        super().__init__(
            f"{count} free ports between {min(among)} and {max(among)} were not found: end servers "
            "that are no longer used"
        )


def free_ports(
    count: int,
    among: Sequence[int],
    rng: random.Random,
    *,
    hosts: Sequence[str] = (LOOPBACK,),
    beside: Sequence[int] = (),
) -> list[int]:
    """Returns different ports that are free on all hosts when they are looked at.

    `beside` are distances to further ports that must be free too. The generator should differ
    between processes that look at the same time.
    """
    found: list[int] = []
    for _ in range(_ATTEMPTS_MAX):
        port = rng.choice(among)
        wanted = (port, *(port + distance for distance in beside))
        if port not in found and all(_is_free(host, each) for host in hosts for each in wanted):
            found.append(port)
            if len(found) == count:
                return found
    raise PortsTaken(count, among)


class HeldPorts:
    """Ports that `free_ports` leaves out in all processes, also while their server is down.

    A server that reuses addresses, as servers do, can listen on them meanwhile. That is so on
    Linux; elsewhere nothing is held.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def hold(self, endpoints: Iterable[Endpoint], *, new: bool) -> bool:
        """Holds all and returns True, or holds none if one is taken.

        If the ports are not `new`, old connections and other holders of them do not matter.
        """
        if sys.platform != "linux":
            return True
        for endpoint in endpoints:
            holder = socket.socket()
            self._sockets.append(holder)
            try:
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, not new)
                holder.bind(endpoint)
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
            except OSError:
                self.release()
                return False
        return True

    def release(self) -> None:
        for holder in self._sockets:
            holder.close()
        self._sockets.clear()


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as attempt:
        try:
            attempt.bind((host, port))
        except OSError:
            return False
    return True
