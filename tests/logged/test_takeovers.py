"""Owners that are killed, paused and replaced over a log that does the worst it may, by seeds."""

import os
import random
from collections import Counter

import pytest
from msgspec.structs import replace

from dovemq.core.ports import Store
from dovemq.load.checker import Rules
from dovemq.load.judgement import CheckReport, Violation
from dovemq.stores.owned.logged.appending import Appending
from dovemq.stores.owned.logged.encoding import LogGroup
from dovemq.stores.owned.logged.replay import InDoubt, LogReplay
from dovemq.testing.nasty import CALM
from dovemq.testing.nasty_log import CALM_LOG, LogNature, log_natures
from dovemq.testing.schedules import EXACT, Workload, play
from dovemq.testing.takeovers import Lives, TakeoverStore

SCHEDULES = int(os.environ.get("DOVETEST_TAKEOVERS", "4"))
"""The number of schedules for each workload, nature and kind of database."""
PLANTED_MAX = 40
"""Schedules in which a planted bug must show."""

LONG = Workload(
    messages=12, send_pause_ms_max=250, repeats_max=8, lease_ms=400, drain_ms_max=200_000
)
WORKLOADS = {
    "plain": replace(LONG, receivers=1, work_ms_max=400, neglect=0.2),
    "fifo": replace(LONG, fifo=True, work_ms_max=300, neglect=0.1),
    "dead letters": replace(LONG, receives_max=2, lease_ms=300, neglect=0.3),
}
HARD = Lives(kill_ms=1_500, pause_ms=2_000, hand_over_ms=4_000)
PAUSES = Lives(pause_ms=1_000)


class Run:
    """One schedule and its report."""

    def __init__(
        self, seed: int, workload: Workload, lives: Lives, nature: LogNature, *, fences: bool
    ) -> None:
        self._lives = lives
        self._nature = nature
        self._fences = fences
        self.stores: list[TakeoverStore] = []
        # A takeover may undo leases. A move takes two calls, as in tests/load/test_nasty.py.
        allowed = {Violation.COLLIDED}
        if workload.receives_max is not None:
            allowed.add(Violation.RETURNED)
        rules = Rules(slack=EXACT, allowed=frozenset(allowed))
        self.report: CheckReport = play(seed, CALM, workload, self._store).report(rules)

    def _store(self, rng: random.Random) -> Store:
        self.stores.append(TakeoverStore(self._lives, self._nature, rng, fences=self._fences))
        return self.stores[0]

    @property
    def lost(self) -> bool:
        left = bool(self.report.left) and not self.report.settles.unknown
        return bool(self.report.failed) or left

    @property
    def deeds(self) -> Counter[str]:
        return self.stores[0].logs.deeds


@pytest.mark.parametrize("fences", [True, False], ids=["fences", "does not fence"])
@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
@pytest.mark.parametrize("nature", log_natures().values(), ids=log_natures())
def test_nothing_answered_is_lost_whatever_happens_to_the_owners(
    nature: LogNature, workload: Workload, fences: bool
) -> None:
    deeds: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        run = Run(seed, workload, HARD, nature, fences=fences)
        assert not run.lost, f"seed {seed}: {run.report.culprits} left {run.report.left}"
        deeds += run.deeds
    assert {"kill", "pause"} <= set(deeds)


def test_version_without_the_check_before_the_answer_loses_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pause between the request to the log and its answer is longer than the lease."""
    monkeypatch.setattr(Appending, "require", lambda _self, _holds: None)
    slow = log_natures()["slow"]
    assert shows(PAUSES, slow, WORKLOADS["plain"])
    monkeypatch.undo()
    for seed in range(SCHEDULES):
        assert not Run(seed, WORKLOADS["plain"], PAUSES, slow, fences=False).lost


def test_version_that_builds_on_a_group_in_doubt_loses_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The seal does not contain the last group, which the next scan may not see."""
    honest = LogReplay.in_doubt

    def in_doubt(replay: LogReplay) -> InDoubt:
        doubt = honest(replay)
        replay.take_effect(doubt.position, doubt.group)
        return InDoubt(doubt.position, doubt.position, LogGroup(0))

    monkeypatch.setattr(LogReplay, "in_doubt", in_doubt)
    assert shows(HARD, log_natures()["doubtful"], WORKLOADS["fifo"])


def shows(lives: Lives, nature: LogNature, workload: Workload) -> bool:
    """Whether one of some schedules loses something on a database that does not fence."""
    return any(Run(seed, workload, lives, nature, fences=False).lost for seed in range(PLANTED_MAX))


def test_same_seed_gives_the_same_history() -> None:
    nature = log_natures()["all together"]
    reports = [
        Run(seed, WORKLOADS["plain"], HARD, nature, fences=False).report for seed in (1, 2, 1)
    ]
    assert reports[0] == reports[2] != reports[1]


def test_calm_owner_serves_without_duplicates() -> None:
    run = Run(1, Workload(neglect=0.0), Lives(), CALM_LOG, fences=True)
    assert not run.lost
    assert run.report.receives == run.report.messages
