"""The cells of the table of faults: what fails how often, under which load.

A probability p is divided evenly among the faults of the network. Loads are chosen so that each
fault fires at least five times, and paced where time must pass for that.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

MESSAGES: Final = 100_000
CHANCES: Final = (0.0001, 0.001, 0.01, 0.1)
FIRED_MIN: Final = 5
"""A cell with fewer is no result."""
AREAS: Final[Mapping[str, tuple[str, ...]]] = {
    "network": ("drop_request", "drop_response", "cut", "delay"),
    "client": ("quit",),
    "chance": ("drop_request", "drop_response", "cut", "delay", "quit"),
    "kill": ("kill", "power_cut"),
    "pause": ("pause",),
    "fail_sync": ("fail_sync",),
    "full": ("full",),
    "flip": ("flip",),
    "clock": ("skew", "jump"),
}
"""Faults that are counted together."""

TOGETHER: Final = ("chance", "kill", "pause", "fail_sync", "full", "clock")
"""A flipped bit may lose the messages of its page; it has a row of its own."""

Document = dict[str, dict[str, Any]]


class Cell(Struct, frozen=True):
    """`p` and `mttf_seconds` are shown in the table; `load` has fields of the plan."""

    name: str
    areas: tuple[str, ...]
    document: Document
    load: Mapping[str, Any]
    p: float | None = None
    mttf_seconds: float | None = None

    @property
    def key(self) -> str:
        parts = [self.name]
        if self.p is not None:
            parts.append(f"p={self.p:g}")
        if self.mttf_seconds is not None:
            parts.append(f"mttf={self.mttf_seconds:g}")
        return " ".join(parts)


_BATCHES: Final[Mapping[str, Any]] = {"send_batch": 10, "receive_batch": 10}
_SINGLE_SENDS: Final = {"send_batch": 1, "receive_batch": 10}
_SINGLE_RECEIVES: Final = {"send_batch": 10, "receive_batch": 1}
_PACED: Final = {**_BATCHES, "send_rate": 1_400.0}
_BACKLOG: Final = {**_PACED, "receive_rate": 100.0}
"""Receivers fall behind, so that the database holds messages to damage."""


def cells() -> Iterator[Cell]:
    for p in CHANCES:
        load = _SINGLE_SENDS if p < 0.01 else _BATCHES
        yield Cell("network", ("network",), {"network": network(p)}, load, p)
    for p in CHANCES:
        load = _SINGLE_RECEIVES if p < 0.001 else _BATCHES
        yield Cell("client", ("client",), {"client": {"quit": p}}, load, p)
    yield from _server()
    yield from _disk()
    yield from _clock()
    for p in CHANCES:
        load = {**(_SINGLE_SENDS if p < 0.001 else _BATCHES), "send_rate": 900.0}
        yield Cell("all together", TOGETHER, everything(p), load, p, 5)
    load = {**_SINGLE_SENDS, "send_rate": 900.0, "fifo": True}
    yield Cell("all together, FIFO queue", TOGETHER, everything(0.01), load, 0.01, 5)


def network(p: float) -> dict[str, float]:
    return dict.fromkeys(AREAS["network"], p / len(AREAS["network"]))


def everything(p: float) -> Document:
    return {
        "network": network(p),
        "client": {"quit": p},
        "server": {"kill_mttf_seconds": 5, "pause_mttf_seconds": 10},
        "disk": {"power_cut": True, "fail_sync_mttf_seconds": 15, "full_mttf_seconds": 15},
        "clock": {"skew_ms": 2_000, "jump_mttf_seconds": 10, "jump_ms": 3_000},
    }


def _server() -> Iterator[Cell]:
    yield _timed("kill -9", "kill", {"server": {"kill_mttf_seconds": 5}}, _PACED, 5)
    document: Document = {"server": {"pause_mttf_seconds": 5}}
    yield _timed("pause of 1 s", "pause", document, _PACED, 5)


def _disk() -> Iterator[Cell]:
    cut: Document = {"server": {"kill_mttf_seconds": 5}, "disk": {"power_cut": True}}
    yield _timed("power cut", "kill", cut, _PACED, 5)
    failing: Document = {"disk": {"fail_sync_mttf_seconds": 5}}
    yield _timed("failing fsync, then power cut", "fail_sync", failing, _PACED, 5)
    full: Document = {"disk": {"full_mttf_seconds": 5}}
    yield _timed("full disk for 2 s", "full", full, _PACED, 5)
    flips: Document = {"disk": {"flip_mttf_seconds": 5}}
    yield _timed("flipped bit in a file at rest", "flip", flips, _BACKLOG, 5)


def _clock() -> Iterator[Cell]:
    jumps: Document = {"clock": {"jump_mttf_seconds": 5, "jump_ms": 5_000}}
    yield _timed("clock jumps within ± 5 s", "clock", jumps, _PACED, 5)
    skewed: Document = {"server": {"kill_mttf_seconds": 5}, "clock": {"skew_ms": 5_000}}
    yield _timed("clock within ± 5 s after each kill -9", "clock", skewed, _PACED, 5)


def _timed(
    name: str, area: str, document: Document, load: Mapping[str, Any], mttf_seconds: float
) -> Cell:
    return Cell(name, (area,), document, load, None, mttf_seconds)
