"""Reasons of decisions: a cause, its rule, and the numbers that its sentence tells."""

import enum
from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class ControlCause(enum.Enum):
    """Why something is done, or why it is not done."""

    FULL = "full"
    OVERLOADED = "overloaded"
    LOAD_RETURNED = "load returned"
    TOO_FEW = "too few"
    TOO_MANY = "too many"
    SPARE = "spare"
    EMPTY = "empty"
    STILL_USED = "still used"
    INHIBITED = "inhibited"
    AT_MOST = "at most"
    AT_LEAST = "at least"
    ALL_NEEDED = "all needed"
    SUITED = "suited"
    FEWEST_PRODUCERS = "fewest producers"
    FEWEST_CONSUMERS = "fewest consumers"
    OTHERS_OVERLOADED = "others overloaded"
    MARKED_LEFT = "marked, left"
    FLOODED = "flooded"
    STARVED = "starved"
    STRANDED = "stranded"


_LOAD: Final = "{clients} clients on a capacity of {capacity:g} are a load of {load:.2f}"
_SENTENCES: Final[Mapping[ControlCause, tuple[str, str]]] = {
    ControlCause.FULL: ("R5", f"{_LOAD}, which leaves no room for the client that joins"),
    ControlCause.OVERLOADED: ("R5", f"{_LOAD}, which is above 1"),
    ControlCause.LOAD_RETURNED: ("R5", f"{_LOAD}, so the partition is needed again"),
    ControlCause.TOO_FEW: (
        "bounds",
        "the number of partitions, {partitions}, is below {partitions_min}",
    ),
    ControlCause.TOO_MANY: (
        "bounds",
        "the number of partitions, {partitions}, is above {partitions_max}",
    ),
    ControlCause.SPARE: (
        "R6",
        f"{_LOAD}, and the rest sustains all clients without its capacity of {{own:g}}",
    ),
    ControlCause.EMPTY: ("R6", "it is marked and has neither clients nor messages"),
    ControlCause.STILL_USED: (
        "R6",
        "partition {partition} is marked and still has {clients} clients and {messages} messages",
    ),
    ControlCause.INHIBITED: (
        "inhibition",
        f"{_LOAD}, but no partition is added or marked for another {{left_ms}} ms",
    ),
    ControlCause.AT_MOST: (
        "bounds",
        f"{_LOAD}, but the greatest number of partitions is {{partitions_max}}",
    ),
    ControlCause.AT_LEAST: (
        "bounds",
        f"{_LOAD}, but the least number of partitions is {{partitions_min}}",
    ),
    ControlCause.ALL_NEEDED: (
        "R6",
        f"{_LOAD}, but without any one of the partitions it would be too high",
    ),
    ControlCause.SUITED: ("R5", f"{_LOAD}, which neither asks for more partitions nor for fewer"),
    ControlCause.FEWEST_PRODUCERS: (
        "R4",
        "its share of the producers, {share:.3f}, is the smallest; its load is {load:.2f}",
    ),
    ControlCause.FEWEST_CONSUMERS: (
        "R4",
        "its share of the consumers, {share:.3f}, is the smallest; its load is {load:.2f}",
    ),
    ControlCause.OTHERS_OVERLOADED: (
        "R3",
        "its share, {share:.3f}, is the smallest of those that are not overloaded; its load is "
        "{load:.2f}",
    ),
    ControlCause.MARKED_LEFT: (
        "R6",
        "partition {partition} is marked, so its clients move; the share here is {share:.3f}",
    ),
    ControlCause.FLOODED: (
        "R1",
        "it has {producer_share:.3f} of the producers, {consumer_share:.3f} of the consumers and "
        "{visible} visible messages, {surplus} more than its consumers' share",
    ),
    ControlCause.STARVED: (
        "R2",
        "the target has {consumers} consumers and no message, and the source has {surplus} more "
        "than its consumers' share",
    ),
    ControlCause.STRANDED: (
        "R1",
        "it has {visible} visible messages that no consumer of its own will receive",
    ),
}


class ControlReason(Struct, frozen=True):
    """`text` is the sentence for people; `rule` is its rule in the paper, or `bounds`."""

    cause: ControlCause
    numbers: Mapping[str, float]

    @property
    def rule(self) -> str:
        return _SENTENCES[self.cause][0]

    @property
    def text(self) -> str:
        return _SENTENCES[self.cause][1].format(**self.numbers)
