"""The queues of one account as another server should have them: decisions without requests.

An account and its region have other numbers and names at another server, so ARNs in policies are
translated. The accounts that a policy names are kept as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.sqs.arns import QueueNames
from dovemq.sqs.attributes import SETTABLE, written
from dovemq.sqs.declared import FIFO_QUEUE, REDRIVE_POLICY, same_value
from dovemq.sqs.redrive import json_object, json_text

LINKED: Final = ("Policy", REDRIVE_POLICY, "RedriveAllowPolicy")
"""Attributes that name other queues, which must exist before."""
UNFINISHED: Final = "dovemq-unfinished-move"
"""A tag of a new queue until its linked attributes are set, so that a later run sets them."""
PAUSED: Final = "DeliveryPaused"
_FORMS_SHOWN: Final = ("seconds", "number", "flag", "choice", "order", "text")
_EXTENDED: Final = tuple(each.name for each in SETTABLE if each.extended)


class RelocatedQueue(Struct, frozen=True):
    """A queue as its server describes it. `attributes` are those that can be set."""

    name: str
    url: str
    arn: str
    attributes: Mapping[str, str]
    tags: Mapping[str, str]

    @property
    def fifo(self) -> bool:
        return self.attributes.get(FIFO_QUEUE, "").lower() == "true"

    @property
    def links(self) -> dict[str, str]:
        return {name: self.attributes[name] for name in LINKED if self.attributes.get(name)}

    @property
    def dead_letters(self) -> str | None:
        """The ARN of its dead-letter queue."""
        policy = json_object(self.attributes.get(REDRIVE_POLICY, ""))
        found = policy.get("deadLetterTargetArn") if policy else None
        return found if isinstance(found, str) else None


def settable(attributes: Mapping[str, str]) -> dict[str, str]:
    """The attributes of an answer that can be set."""
    return {each.name: attributes[each.name] for each in SETTABLE if each.name in attributes}


def first_attributes(queue: RelocatedQueue) -> dict[str, str]:
    """The attributes to create the queue with.

    DoveMQ's own are left out where they have their defaults: other servers do not know them.
    """
    defaults = _defaults(queue)
    return {
        name: text
        for name, text in queue.attributes.items()
        if name not in LINKED and text != defaults.get(name)
    }


def first_tags(queue: RelocatedQueue) -> dict[str, str]:
    marked = bool(queue.links) and len(queue.tags) < limits.TAGS_MAX
    return {**queue.tags, UNFINISHED: "true"} if marked else dict(queue.tags)


def links_at(queue: RelocatedQueue, target_arn: str) -> dict[str, str]:
    """The linked attributes for the target, where this queue has another ARN."""
    old, new = _prefix(queue.arn), _prefix(target_arn)
    if old == new:
        return queue.links
    return {name: _translated(text, old, new) for name, text in queue.links.items()}


def differences(source: RelocatedQueue, target: RelocatedQueue) -> list[str]:
    """The differences between a queue and the one of its name at the target, as sentences."""
    here = {**source.attributes, **links_at(source, target.arn)}
    there = target.attributes
    found = [*_different_attributes(here, there)]
    for key in sorted({*source.tags, *target.tags} - {UNFINISHED}):
        pair = source.tags.get(key), target.tags.get(key)
        if pair[0] != pair[1]:
            found.append(_sentence(f"tag {key}", *pair))
    return found


def in_levels(queues: Sequence[RelocatedQueue]) -> list[list[RelocatedQueue]]:
    """The queues, each in a later level than those whose dead letters it takes.

    A receive can move a message to the dead-letter queue, so that must be emptied after its
    sources. Queues that take each other's dead letters are in the last level.
    """
    left = {queue.arn: queue for queue in queues}
    levels: list[list[RelocatedQueue]] = []
    while left:
        taking = {each.dead_letters for each in left.values() if each.dead_letters != each.arn}
        level = [queue for arn, queue in left.items() if arn not in taking] or list(left.values())
        levels.append(level)
        for queue in level:
            del left[queue.arn]
    return levels


def _defaults(queue: RelocatedQueue) -> dict[str, str]:
    """The extended attributes of a new queue."""
    fresh = Queue(0, QueueKey("", queue.name), QueueSettings(fifo=queue.fifo), 0, 0)
    names = QueueNames("")
    found = ((name, written(name, fresh, names, None)) for name in _EXTENDED)
    return {name: text for name, text in found if text is not None}


def _different_attributes(here: Mapping[str, str], there: Mapping[str, str]) -> Iterator[str]:
    # A server that is not DoveMQ has none of its attributes, and lacks nothing.
    foreign = not all(any(name in each for name in _EXTENDED) for each in (here, there))
    for each in SETTABLE:
        one, other = here.get(each.name), there.get(each.name)
        if (each.extended and foreign) or not (one or other):
            continue
        if one is None or other is None or not same_value(each.name, one, other):
            if each.form in _FORMS_SHOWN:
                yield _sentence(each.name, one, other)
            else:
                yield f"{each.name} is different"


def _sentence(what: str, one: str | None, other: str | None) -> str:
    here, there = ("not set" if text is None else text for text in (one, other))
    return f"{what} is {here} at the source and {there} at the target"


def _prefix(arn: str) -> str:
    """The ARN up to the name of the queue."""
    return arn.rpartition(":")[0] + ":"


def _translated(text: str, old: str, new: str) -> str:
    """The JSON text with the ARNs of one account and region as those of another."""

    def walk(value: Any) -> Any:
        match value:
            case str():
                return new + value.removeprefix(old) if value.startswith(old) else value
            case list():
                return [walk(each) for each in value]
            case dict():
                return {key: walk(each) for key, each in value.items()}
        return value

    try:
        return json_text(walk(msgspec.json.decode(text)))
    except msgspec.DecodeError:
        return text
