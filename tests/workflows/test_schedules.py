"""Jobs end exactly once, whatever the store and the workers do."""

import os

import pytest

from dovemq.testing.nasty import Nature, natures
from tests.workflows.schedule import judge, played

SEEDS = int(os.environ.get("DOVETEST_JOB_SCHEDULES", "3"))
LATE = ("late messages",)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", natures())
def test_every_job_ends_exactly_once_on_a_store_that_misbehaves(name: str, seed: int) -> None:
    run = played(natures()[name], seed)
    judge(run)
    if name not in ("calm", *LATE):
        assert run.store.deeds or name == "slow"


def test_without_faults_every_task_is_executed_once() -> None:
    run = played(Nature(), 1, kills=0, failures=0.0)
    judge(run)
    assert sum(run.witness.ends.values()) == sum(len(job.tasks) for job in run.ended)
    assert all(task.attempt is not None for job in run.ended for task in job.tasks)
    attempts = {task.attempt.number for job in run.ended for task in job.tasks if task.attempt}
    assert attempts == {1}
