"""A message: the parts that its sender gave, and those that the queue added."""

from collections.abc import Mapping

from msgspec import Struct


class Attribute(Struct, frozen=True):
    """A typed value beside the body; `type` begins with String, Number or Binary."""

    type: str
    value: str | bytes


class Message(Struct, frozen=True, gc=False):
    """A stored message, which never changes. `sequence` rises within its partition."""

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
