"""The timetable: hidden entries by the time at which they become visible.

    times   heap of the milliseconds that have a slot:   1040  1041  1300 ...
    slots   1040 -> entry                    a slot with one entry is the entry itself
            1041 -> {sequence: entry, ...}   a slot with several is a dict
            1300 -> None                     an empty slot

There is a slot for each millisecond in use, so that entries leave exactly when they are due and
need no sorting by time. Entries are deleted at once, but an empty slot stays in both structures:
messages are usually settled early, and the next lease of the same millisecond uses the slot again.
It goes when its time has come, or with all others when most slots are empty.

`first_ms` may be the time of an empty slot: then `due` finds nothing, and no entry is late.
"""

import heapq
import math
from typing import Final

from dovemq.core.entry import Entry

_EMPTY_SLOTS_MIN: Final = 1_024
"""Fewer empty slots than this are not swept."""

_Slot = Entry | dict[int, Entry] | None


class Timetable:
    __slots__ = ("_empty", "_slots", "_times", "delayed", "first_ms", "leased")

    def __init__(self) -> None:
        self.leased = 0
        self.delayed = 0
        self.first_ms: float = math.inf
        """No entry is due before this time."""
        self._slots: dict[int, _Slot] = {}
        self._times: list[int] = []
        self._empty = 0

    def put(self, entry: Entry) -> None:
        time_ms = entry.visible_ms
        slots = self._slots
        held = slots.get(time_ms)
        if held is None:
            if time_ms in slots:
                self._empty -= 1
            else:
                heapq.heappush(self._times, time_ms)
                self.first_ms = self._times[0]
            slots[time_ms] = entry
        elif type(held) is dict:
            held[entry.sequence] = entry
        elif type(held) is Entry:
            slots[time_ms] = {held.sequence: held, entry.sequence: entry}
        if entry.receive_count:
            self.leased += 1
        else:
            self.delayed += 1

    def remove(self, entry: Entry) -> bool:
        """Remove the entry; False if it was not hidden."""
        time_ms = entry.visible_ms
        held = self._slots.get(time_ms)
        if held is entry:
            self._vacate(time_ms)
        elif type(held) is dict and held.pop(entry.sequence, None) is not None:
            if not held:
                self._vacate(time_ms)
        else:
            return False
        if entry.receive_count:
            self.leased -= 1
        else:
            self.delayed -= 1
        return True

    def holds(self, entry: Entry) -> bool:
        held = self._slots.get(entry.visible_ms)
        return held is entry or (type(held) is dict and entry.sequence in held)

    def due(self, now_ms: int) -> list[Entry]:
        """Remove the entries that are visible now; returns them in order of (T, I)."""
        due: list[Entry] = []
        times = self._times
        while times and times[0] <= now_ms:
            held = self._slots.pop(heapq.heappop(times))
            if type(held) is Entry:
                due.append(held)
            elif type(held) is dict:
                due += sorted(held.values())
            else:
                self._empty -= 1
        self.first_ms = times[0] if times else math.inf
        delayed = sum(1 for entry in due if not entry.receive_count)
        self.delayed -= delayed
        self.leased -= len(due) - delayed
        return due

    def next_ms(self) -> int | None:
        times, slots = self._times, self._slots
        while times:
            time_ms = times[0]
            if slots[time_ms] is not None:
                return time_ms
            heapq.heappop(times)
            del slots[time_ms]
            self._empty -= 1
        return None

    def _vacate(self, time_ms: int) -> None:
        self._slots[time_ms] = None
        self._empty += 1
        if self._empty > _EMPTY_SLOTS_MIN and self._empty * 2 > len(self._slots):
            self._slots = {at: held for at, held in self._slots.items() if held is not None}
            self._times = sorted(self._slots)
            self._empty = 0
