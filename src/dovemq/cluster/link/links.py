"""The links of a front end to all others. Implements `cluster.ports.Link`."""

import ipaddress
import logging

from msgspec import Struct

from dovemq.cluster.link.bounds import LINKS_MAX
from dovemq.cluster.link.dialling import Dialling, OutgoingLink
from dovemq.cluster.link.remote import RemotePartition
from dovemq.core.errors import Busy
from dovemq.core.queue import Queue
from dovemq.stores.owned.group import PartitionKey

log = logging.getLogger(__name__)


class LinkStatus(Struct, frozen=True):
    """The state of the link to one front end, for operators.

    `cause` says why there is no connection; if one side has `refused` the other, somebody must
    correct something. `openings` counts the connections so far.
    """

    address: str
    connected: bool
    in_flight: int
    openings: int
    cause: str
    refused: bool
    incarnation: str
    product: str


class PeerLinks:
    def __init__(self, dialling: Dialling) -> None:
        dialling.identity.check()
        self._dialling = dialling
        self._links: dict[str, OutgoingLink] = {}

    def partition(self, address: str, queue: Queue, place: PartitionKey) -> RemotePartition:
        return RemotePartition(self._link(address), place, queue.version)

    async def refusal(self, address: str) -> str | None:
        return await self._link(address).refusal()

    def forget(self, address: str) -> None:
        link = self._links.get(address)
        if link is not None:
            link.hang_up("it is dead")

    def statuses(self) -> list[LinkStatus]:
        return [_status(link) for link in self._links.values()]

    async def close(self) -> None:
        for link in self._links.values():
            await link.close()

    def _link(self, address: str) -> OutgoingLink:
        link = self._links.get(address)
        return self._new_link(address) if link is None else link

    def _new_link(self, address: str) -> OutgoingLink:
        if len(self._links) >= LINKS_MAX:
            self._forget_idle()
        if self._dialling.context is None and not is_loopback(address.rpartition(":")[0]):
            log.warning("the link to %s has no TLS: %s", address, READABLE)
        link = self._links[address] = OutgoingLink(address, self._dialling)
        return link

    def _forget_idle(self) -> None:
        for address in [address for address, link in self._links.items() if link.idle]:
            del self._links[address]
        if len(self._links) >= LINKS_MAX:
            raise Busy(f"This front end has links to {LINKS_MAX} others")


READABLE = "nobody can change its messages on the way, but anybody in the path can read them"


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _status(link: OutgoingLink) -> LinkStatus:
    session = link.session
    peer = session.peer if session is not None else None
    return LinkStatus(
        link.address,
        session is not None,
        session.in_flight if session is not None else 0,
        link.openings,
        "" if session is not None else link.cause,
        session is None and link.refused,
        peer.incarnation if peer is not None else "",
        peer.product if peer is not None else "",
    )
