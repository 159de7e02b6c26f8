"""A spread queue over a store that does the worst that a store may, judged by the checker."""

import os

import pytest

from dovemq.load.checker import Rules
from dovemq.load.judgement import Violation
from dovemq.testing.nasty import Nature, natures
from dovemq.testing.schedules import EXACT, Workload, play

SCHEDULES = int(os.environ.get("DOVETEST_SCHEDULES", "20"))

WORKLOADS = {
    "plain": Workload(partitions=4),
    "polls": Workload(partitions=4, wait_ms=1_000, quits=0.2),
    "pms": Workload(partitions=4, strategy="pms", wait_ms=1_000),
    "rds": Workload(partitions=4, strategy="rds", wait_ms=500, quits=0.2),
    "fifo": Workload(partitions=4, fifo=True, quits=0.1, receivers=3),
    "dead letters": Workload(partitions=4, receives_max=1, neglect=0.5),
    "sessions": Workload(partitions=4, wait_ms=500, quits=0.1, receivers=3, sessions=True),
    "resized sessions": Workload(
        partitions=4, messages=10, wait_ms=300, resizes=(2, 5, 1, 3, 1), sessions=True
    ),
    "resized": Workload(partitions=4, messages=10, wait_ms=300, resizes=(2, 5, 1, 3, 1)),
}


def allowed(nature: Nature, workload: Workload) -> frozenset[Violation]:
    """The violations that the ports allow; tests/load has those of one partition.

    A move whose answer was lost leaves a message in two partitions; messages move when partitions
    are removed, and between those of a queue that sizes itself. A receive that looks into
    several may pause after the first one, and be answered when its lease has ended there and the
    message was received again.
    """
    faults: set[Violation] = set()
    unsure = nature.crash or nature.reply_lost or nature.request_lost
    moves = workload.sessions or bool(workload.resizes)
    if nature.crash or nature.pause or (unsure and moves):
        faults.add(Violation.COLLIDED)
    if (workload.receives_max is not None and nature.delay_ms_max) or (unsure and moves):
        faults.add(Violation.RETURNED)
    return frozenset(faults)


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
@pytest.mark.parametrize("nature", natures().values(), ids=natures())
def test_nothing_is_lost_whatever_the_partitions_do(nature: Nature, workload: Workload) -> None:
    rules = Rules(slack=EXACT, allowed=allowed(nature, workload))
    for seed in range(SCHEDULES):
        report = play(seed, nature, workload).report(rules)
        assert not report.failed, f"seed {seed}: {report.culprits}"
        assert report.left == 0 or report.settles.unknown, f"seed {seed}"
