"""The errors of bridges.

BridgeError
├── BridgePlanInvalid   the command line or the file of a bridge is wrong
├── BrokerUnreachable   no connection to the broker; try again
├── BrokerRefused       the broker does not accept this client or its subscriptions
└── QueueUnusable       a queue does not exist or refuses every message
"""

from dovemq.core.errors import DoveError


class BridgeError(DoveError):
    """The root of the tree. Only its subclasses are raised."""


class BridgePlanInvalid(BridgeError):
    def __init__(self, place: str, found: str) -> None:
        super().__init__(f"{place}: {found}")


class BrokerUnreachable(BridgeError):
    def __init__(self, url: str, found: str) -> None:
        super().__init__(f"{url}: {found}")


class BrokerRefused(BridgeError):
    def __init__(self, url: str, found: str, remedy: str) -> None:
        super().__init__(f"{url}: {found}; {remedy}")


class QueueUnusable(BridgeError):
    def __init__(self, queue: str, found: str) -> None:
        super().__init__(f"queue {queue}: {found}")
