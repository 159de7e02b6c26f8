"""Bugs that were planted on purpose: the schedules must find them."""

from collections.abc import Callable

import msgspec
import pytest

from dovemq.core.ledger import LedgerEntry
from dovemq.service.workflows.sweeping import WorkflowSweeper
from dovemq.stores.memory_ledger import MemoryLedger
from dovemq.testing.nasty import natures
from tests.workflows import schedule
from tests.workflows.schedule import judge, played

SEEDS = 6
Patch = Callable[[pytest.MonkeyPatch], None]


def _no_review(patch: pytest.MonkeyPatch) -> None:
    async def sweep(_: WorkflowSweeper) -> int:
        return 0

    patch.setattr(WorkflowSweeper, "sweep", sweep)


def _last_writer_wins(patch: pytest.MonkeyPatch) -> None:
    put = MemoryLedger.put

    async def careless(ledger: MemoryLedger, entry: LedgerEntry) -> bool:
        held = await ledger.get(entry.kind, entry.name)
        version = held.version if held else 0
        return await put(ledger, msgspec.structs.replace(entry, version=version))

    patch.setattr(MemoryLedger, "put", careless)


PLANTED: dict[str, tuple[str, Patch]] = {
    "nobody reviews the jobs": ("lost replies", _no_review),
    "the last writer wins": ("all together", _last_writer_wins),
}


def _is_sound(nature: str, seed: int) -> bool:
    try:
        judge(played(natures()[nature], seed))
    except (AssertionError, TimeoutError):
        return False
    return True


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nature, plant = PLANTED[bug]
    plant(monkeypatch)
    monkeypatch.setattr(schedule, "SECONDS_MAX", 400)
    assert not all(_is_sound(nature, seed) for seed in range(SEEDS))
