"""Topic filters of MQTT: their form, the topics that they match (section 4.7), and each other."""

import itertools
import re
from typing import Final

from msgspec import Struct

from dovemq.bridge.errors import BridgePlanInvalid

FILTER_BYTES_MAX: Final = 65_535
ONE_LEVEL: Final = "+"
ALL_LEVELS: Final = "#"
_WILDCARDS: Final = (ONE_LEVEL, ALL_LEVELS)
_SHARED: Final = re.compile(r"\$share/([^/+#]+)/(.+)", re.DOTALL)


class TopicFilter(Struct, frozen=True):
    """A filter as a client subscribes to it, and the levels that topics are compared with.

    `$share/NAME/FILTER` shares the messages of FILTER between all clients that use this NAME.
    """

    text: str
    share: str
    levels: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "TopicFilter":
        share, pattern = "", text
        if text.startswith("$share/"):
            shared = _SHARED.fullmatch(text)
            if shared is None:
                raise BridgePlanInvalid(repr(text), "a shared filter is $share/NAME/FILTER")
            share, pattern = shared[1], shared[2]
        levels = tuple(pattern.split("/"))
        if reason := _mistake(text, levels):
            raise BridgePlanInvalid(repr(text), reason)
        return cls(text, share, levels)

    def matches(self, topic: str) -> bool:
        return _covers(self.levels, tuple(topic.split("/")))

    def covers(self, other: "TopicFilter") -> bool:
        """Whether it matches every topic that the other one matches, for the same clients."""
        return self.share == other.share and _covers(self.levels, other.levels)

    def overlaps(self, other: "TopicFilter") -> bool:
        """Whether some topic matches both."""
        return _overlap(self.levels, other.levels)


def _covers(wide: tuple[str, ...], narrow: tuple[str, ...]) -> bool:
    """Compare level by level. A topic is a filter without wildcards."""
    if narrow[0].startswith("$") and wide[0] in _WILDCARDS:
        return False
    for ours, theirs in itertools.zip_longest(wide, narrow):
        if ours == ALL_LEVELS:
            return True
        if ours is None or theirs in (None, ALL_LEVELS) or ours not in (ONE_LEVEL, theirs):
            return False
    return True


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if any(
        first[0].startswith("$") and second[0] in _WILDCARDS
        for first, second in ((one, other), (other, one))
    ):
        return False
    for ours, theirs in itertools.zip_longest(one, other):
        if ALL_LEVELS in (ours, theirs):
            return True
        if None in (ours, theirs) or (ONE_LEVEL not in (ours, theirs) and ours != theirs):
            return False
    return True


def _mistake(text: str, levels: tuple[str, ...]) -> str:
    *first, last = levels
    if not text or len(text.encode()) > FILTER_BYTES_MAX or "\0" in text:
        return f"a topic filter has 1 to {FILTER_BYTES_MAX} bytes and no null character"
    if any(ALL_LEVELS in level for level in first) or (ALL_LEVELS in last and last != ALL_LEVELS):
        return "# stands alone, as the last level of a topic filter"
    if any(ONE_LEVEL in level and level != ONE_LEVEL for level in levels):
        return "+ stands alone, as a whole level of a topic filter"
    return ""
