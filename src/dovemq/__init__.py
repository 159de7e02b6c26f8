"""DoveMQ: a self-hosted message queue service that speaks the SQS protocol.

`dovemq.open` and `dovemq.open_async` give its queues in process, without a server.
`dovemq.connect` and `dovemq.connect_async` make a producer or a consumer of a queue of a running
server. They are imported on first use, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovemq.client import connect, connect_async
    from dovemq.inprocess import open, open_async

__all__ = ["__version__", "connect", "connect_async", "open", "open_async"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in ("connect", "connect_async"):
        from dovemq import client

        return getattr(client, name)
    if name in __all__:
        from dovemq import inprocess

        return getattr(inprocess, name)
    raise AttributeError(f"module 'dovemq' has no attribute {name!r}")
