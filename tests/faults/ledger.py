"""A client's record of acknowledged requests, and the check that a store kept them in a crash.

A ledger is fed with lines that a client writes before and after each request, so that it knows
for every message whether its send and its settle were asked for and whether they were answered.
A request that was asked and not answered may have happened or not; all else is certain.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

SENDING: Final = "+"
SENT: Final = "a"
SETTLING: Final = "-"
SETTLED: Final = "d"
MOVING: Final = "<"
MOVED: Final = ">"


class Ledger:
    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {
            mark: set() for mark in (SENDING, SENT, SETTLING, SETTLED, MOVING, MOVED)
        }

    def note(self, mark: str, names: Iterable[str]) -> None:
        self._seen[mark].update(names)

    def feed(self, lines: str) -> None:
        """Whole lines of a mark and names; a line that the crash cut short is not counted."""
        for line in lines.split("\n")[:-1]:
            mark, *names = line.split()
            self.note(mark, names)

    @property
    def sent_count(self) -> int:
        return len(self._seen[SENT])

    @property
    def settled_count(self) -> int:
        return len(self._seen[SETTLED])

    def least(self) -> int:
        """The smallest possible number of messages."""
        return len(self.expected())

    def most(self) -> int:
        return len(self._seen[SENDING] - self._seen[SETTLED])

    def expected(self) -> set[str]:
        """Names that must be there: answered sends that nobody asked to settle."""
        return self._seen[SENT] - self._seen[SETTLING]

    def broken_promises(self, found: Mapping[str, str]) -> list[str]:
        """`found`: the body of every message in the store, by the name its sender gave it."""
        lost = self.expected() - found.keys()
        # A move that the crash cut short may have left a copy at either end; settling the one
        # does not take the other away.
        doubled = self._seen[MOVING] - self._seen[MOVED]
        returned = (self._seen[SETTLED] & found.keys()) - doubled
        unknown = found.keys() - self._seen[SENDING]
        changed = {name for name, body in found.items() if body != body_of(name)}
        findings = {
            "acknowledged messages lost": lost,
            "settled messages came back": returned,
            "messages that nobody sent": unknown,
            "bodies changed": changed,
        }
        return [
            f"{len(names)} {what}: {', '.join(sorted(names)[:5])}"
            for what, names in findings.items()
            if names
        ]


def body_of(name: str) -> str:
    """Name and size differ from message to message, so that a mix-up shows."""
    return name + ":" + name[-1] * (sum(name.encode()) * 37 % 6_000)


def name_in(body: str) -> str:
    return body.partition(":")[0]


def repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def out_of_order(names: Iterable[str]) -> list[str]:
    """Names of FIFO messages, `group.number.…`, that came before an earlier one of their group."""
    last: dict[str, int] = {}
    wrong = []
    for name in names:
        group, number, *_ = name.split(".")
        if int(number) < last.get(group, -1):
            wrong.append(name)
        last[group] = int(number)
    return wrong
