"""Power loss: what was acknowledged is there, what was settled stays away, counters are right.

Each seed is one round: the store is created and loaded, struck, opened again (and struck while
it opens or right after), loaded on, struck again, and in the end looked through without the shim.
"""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from dovemq.core.errors import DoveError
from dovemq.load.faults.powercut import Damage, PowerCutDisk
from tests.faults.inspection import broken_promises
from tests.faults.ledger import Ledger
from tests.faults.power_driver import later_release

SEEDS: Final = range(int(os.environ.get("DOVETEST_POWER_ROUNDS", "12")))
MIGRATION_SEEDS: Final = range(4)
LYING: Final = range(8)
_STEPS: Final = 25
_LIFE_OPERATIONS: Final = 400
_OPENING_OPERATIONS: Final = 25
_MIGRATION_OPERATIONS: Final = 400
_MIGRATED_OPERATIONS: Final = 1_500
_UNCUT: Final = 0
_CHECKPOINTS_STRUCK: Final = 4
_ATTEMPTS_MAX: Final = 60
_DATABASE: Final = "dovemq.db"


class Life(NamedTuple):
    """One run of the driver: how much it is to do, and when at the latest the power goes."""

    steps: int
    operations_max: int
    migrate: bool = False


_LIVES: Final = (
    Life(_STEPS, _OPENING_OPERATIONS),
    Life(_STEPS, _LIFE_OPERATIONS),
    Life(_STEPS, _OPENING_OPERATIONS),
    Life(0, _OPENING_OPERATIONS),
    Life(_STEPS, _LIFE_OPERATIONS),
)
_MIGRATING_LIVES: Final = (
    Life(_STEPS, _UNCUT),
    Life(0, _MIGRATION_OPERATIONS, migrate=True),
    Life(0, _MIGRATION_OPERATIONS, migrate=True),
    Life(_STEPS, _MIGRATED_OPERATIONS, migrate=True),
)


class Round:
    def __init__(self, disk: PowerCutDisk, seed: int, *, lie: bool = False) -> None:
        self.ledger = Ledger()
        self._disk = disk
        self._rng = random.Random(seed)
        self._lie = lie

    def live(self, life: Life) -> Damage:
        """Run the driver until the power goes; it may also end before, all work done."""
        cut_at = self._rng.randint(1, life.operations_max) if life.operations_max else 0
        environment = {**os.environ, **self._disk.environment(cut_at=cut_at, lie=self._lie)}
        seed = str(self._rng.randrange(1_000_000))
        driver = [sys.executable, "-m", "tests.faults.power_driver"]
        ended = subprocess.run(
            [*driver, str(self._disk.root), seed, str(life.steps), *["migrate"] * life.migrate],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.ledger.feed(ended.stdout)
        if ended.returncode not in (0, -signal.SIGKILL):
            raise AssertionError(ended.stderr[-2_000:])
        return self._disk.strike(self._rng)

    def broken_promises(self) -> list[str]:
        return broken_promises(self._disk.root, self.ledger)


@pytest.mark.parametrize("seed", SEEDS)
def test_power_loss_breaks_no_promise(disk: PowerCutDisk, seed: int) -> None:
    played = Round(disk, seed)
    for life in _LIVES:
        played.live(life)
    assert played.broken_promises() == []


def test_power_loss_in_the_middle_of_checkpoints_breaks_no_promise(
    tmp_path: Path, shim: Path
) -> None:
    """Only a checkpoint writes to the database itself; the log takes all else."""
    struck = 0
    for seed in range(_ATTEMPTS_MAX):
        played = Round(PowerCutDisk(tmp_path / str(seed), shim), seed)
        damage = played.live(Life(_STEPS, _LIFE_OPERATIONS))
        if _DATABASE in damage.unsynced_files and played.ledger.sent_count:
            struck += 1
            assert played.broken_promises() == []
        if struck == _CHECKPOINTS_STRUCK:
            return
    pytest.fail(f"only {struck} checkpoints were struck")


@pytest.mark.parametrize("seed", MIGRATION_SEEDS)
def test_power_loss_during_migration_breaks_no_promise(disk: PowerCutDisk, seed: int) -> None:
    played = Round(disk, seed)
    for life in _MIGRATING_LIVES:
        played.live(life)
    with later_release():
        assert played.broken_promises() == []


def findings_when_syncs_lie(disk: PowerCutDisk, seed: int) -> list[str]:
    played = Round(disk, seed, lie=True)
    try:
        for life in _LIVES:
            played.live(life)
        return played.broken_promises()
    except (AssertionError, DoveError) as error:
        return [str(error)]


def test_power_loss_is_noticed_when_syncs_lie(tmp_path: Path, shim: Path) -> None:
    findings = (
        findings_when_syncs_lie(PowerCutDisk(tmp_path / str(seed), shim), seed) for seed in LYING
    )
    assert any(findings)
