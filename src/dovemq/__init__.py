"""DoveMQ: a self-hosted message queue service that speaks the SQS protocol.

`dovemq.open` and `dovemq.open_async` give its queues in process, without a server. They are
imported on first use, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovemq.inprocess import open, open_async

__all__ = ["__version__", "open", "open_async"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in __all__:
        from dovemq import inprocess

        return getattr(inprocess, name)
    raise AttributeError(f"module 'dovemq' has no attribute {name!r}")
