"""Entries of a ledger: small named values that a store keeps beside the queues.

The progress of jobs and the specifications of workflows are entries. A store knows nothing of what
is in them: it finds them by name, by state and type, and by the time at which they are due.
"""

import re
from typing import Final

from msgspec import Struct

from dovemq.core.errors import InvalidValue

KIND: Final = re.compile(r"[a-z]{1,16}")
LABEL: Final = re.compile(r"[A-Za-z0-9_-]{0,64}")
"""States and types of entries."""
NAME_BYTES_MAX: Final = 256
VALUE_BYTES_MAX: Final = 256 * 1_024
PAGE_COUNT_MAX: Final = 1_000
PAGE_BYTES_MAX: Final = 4 << 20
"""A page ends with the entry that exceeds this."""
LAST: Final = "\U0010ffff"
"""A character that no name has; names that start with a prefix are below the prefix and this."""


class LedgerEntry(Struct, frozen=True):
    """`version` counts the writes of the store; 0 stands for an entry that is not stored yet."""

    kind: str
    name: str
    value: bytes
    state: str = ""
    type: str = ""
    due_ms: int | None = None
    version: int = 0


class LedgerAsk(Struct, frozen=True):
    """Entries of a kind whose names start with `prefix` and come after `after`, by name.

    With `state` and `type`, only entries that have these.
    """

    kind: str
    count_max: int
    prefix: str = ""
    after: str = ""
    state: str | None = None
    type: str | None = None

    @property
    def first(self) -> str:
        """The names of the answer are above this one, or equal to the prefix."""
        return max(self.prefix, self.after)

    def wants(self, entry: LedgerEntry) -> bool:
        return (
            entry.kind == self.kind
            and entry.name.startswith(self.prefix)
            and entry.name > self.after
            and self.state in (None, entry.state)
            and self.type in (None, entry.type)
        )


class LedgerPage(Struct, frozen=True):
    """A page may have fewer entries than were asked for. `next` is None after the last one."""

    entries: tuple[LedgerEntry, ...]
    next: str | None


def check_entry(entry: LedgerEntry) -> None:
    """Refuse an entry that some store could not keep."""
    if not KIND.fullmatch(entry.kind):
        raise InvalidValue("kind", entry.kind, "one to sixteen small letters are needed.")
    size = len(entry.name.encode())
    if not 0 < size <= NAME_BYTES_MAX or LAST in entry.name or "\0" in entry.name:
        raise InvalidValue("name", f"of {size} bytes", f"1 to {NAME_BYTES_MAX} bytes are needed.")
    for field in ("state", "type"):
        if not LABEL.fullmatch(getattr(entry, field)):
            text = "at most 64 letters, digits, hyphens and underscores are allowed."
            raise InvalidValue(field, getattr(entry, field), text)
    if len(entry.value) > VALUE_BYTES_MAX:
        size = len(entry.value)
        raise InvalidValue("value", f"of {size} bytes", f"the most is {VALUE_BYTES_MAX} bytes.")


def cut(entries: list[LedgerEntry], count_max: int, *, more: bool = False) -> LedgerPage:
    """The first entries as a page of bounded count and size; with `more`, there are others."""
    kept: list[LedgerEntry] = []
    size = 0
    for entry in entries[:count_max]:
        kept.append(entry)
        size += len(entry.value)
        if size > PAGE_BYTES_MAX:
            break
    more = more or len(kept) < len(entries)
    return LedgerPage(tuple(kept), kept[-1].name if more and kept else None)
