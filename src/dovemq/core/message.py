"""A message: what the sender gave, and what the queue added when it took it."""

from collections.abc import Mapping

from msgspec import Struct


class Attribute(Struct, frozen=True):
    """A typed value that travels beside the body; `type` is String, Number or Binary[.custom]."""

    type: str
    value: str | bytes


class Message(Struct, frozen=True, gc=False):
    """Immutable from send to settle. `sequence` rises with every message of the store."""

    message_id: str
    sequence: int
    body: str
    sent_ms: int
    sender: str
    attributes: Mapping[str, Attribute] = {}
    group: str | None = None
    deduplication_id: str | None = None
    xray_header: str | None = None
    source: str | None = None
    """The queue, as `account/name`, that this message was dead-lettered from."""
