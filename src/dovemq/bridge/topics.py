"""Topic filters of MQTT: their form, and which topics they match (section 4.7 of MQTT 5)."""

import re
import zlib
from typing import Final

from msgspec import Struct

from dovemq.bridge.errors import BridgePlanInvalid

FILTER_BYTES_MAX: Final = 65_535
ONE_LEVEL: Final = "+"
ALL_LEVELS: Final = "#"
IDENTIFIER_MAX: Final = (1 << 28) - 1
"""Largest subscription identifier that MQTT can encode."""
_SHARED: Final = re.compile(r"\$share/([^/+#]+)/(.+)", re.DOTALL)


class TopicFilter(Struct, frozen=True):
    """A filter as a client subscribes to it, and the levels that topics are compared with.

    `$share/NAME/FILTER` shares the messages of FILTER between all clients that use this NAME.
    """

    text: str
    levels: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "TopicFilter":
        pattern = text
        if text.startswith("$share/"):
            shared = _SHARED.fullmatch(text)
            if shared is None:
                raise BridgePlanInvalid(repr(text), "a shared filter is $share/NAME/FILTER")
            pattern = shared[2]
        levels = tuple(pattern.split("/"))
        if reason := _mistake(text, levels):
            raise BridgePlanInvalid(repr(text), reason)
        return cls(text, levels)

    @property
    def identifier(self) -> int:
        """The subscription identifier.

        It depends on the text alone, since a broker keeps subscriptions and the identifiers of
        waiting messages while the routes of a bridge change.
        """
        return zlib.crc32(self.text.encode()) % IDENTIFIER_MAX + 1

    def matches(self, topic: str) -> bool:
        levels = topic.split("/")
        if topic.startswith("$") and self.levels[0] in (ONE_LEVEL, ALL_LEVELS):
            return False
        for place, wanted in enumerate(self.levels):
            if wanted == ALL_LEVELS:
                return True
            if place == len(levels) or wanted not in (ONE_LEVEL, levels[place]):
                return False
        return len(levels) == len(self.levels)


def _mistake(text: str, levels: tuple[str, ...]) -> str:
    *first, last = levels
    if not text or len(text.encode()) > FILTER_BYTES_MAX or "\0" in text:
        return f"a topic filter has 1 to {FILTER_BYTES_MAX} bytes and no null character"
    if any(ALL_LEVELS in level for level in first) or (ALL_LEVELS in last and last != ALL_LEVELS):
        return "# stands alone, as the last level of a topic filter"
    if any(ONE_LEVEL in level and level != ONE_LEVEL for level in levels):
        return "+ stands alone, as a whole level of a topic filter"
    return ""
