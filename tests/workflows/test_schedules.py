"""Jobs end exactly once, whatever the store and the workers do."""

import os
from typing import Any

import pytest

from dovemq.core.workflows.jobs import JobState, TaskState
from dovemq.testing.clock import VirtualLoop, run_virtually
from dovemq.testing.nasty import Nature, natures
from tests.workflows.schedule import JobSchedule

SEEDS = int(os.environ.get("DOVETEST_JOB_SCHEDULES", "3"))
LATE = ("late messages",)


def _played(nature: Nature, seed: int, **options: Any) -> JobSchedule:
    loop = VirtualLoop()
    schedule = JobSchedule(seed, nature, loop, **options)
    run_virtually(schedule.run(), loop)
    return schedule


def _judge(played: JobSchedule) -> None:
    """Every job has ended once, every task once, and no join has fired twice."""
    for job in played.ended:
        assert job.state is JobState.ENDED, job
        assert {task.state for task in job.tasks} == {TaskState.ENDED}
        assert not job.outbox
        assert played.witness.finals[job.job_id] == 1
        for task in job.tasks:
            assert played.witness.ends[job.job_id, task.name] == 1
            assert played.witness.first_publications[job.job_id, task.name] == 1


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", natures())
def test_every_job_ends_exactly_once_on_a_store_that_misbehaves(name: str, seed: int) -> None:
    played = _played(natures()[name], seed)
    _judge(played)
    if name not in ("calm", *LATE):
        assert played.store.deeds or name == "slow"


def test_without_faults_every_task_is_executed_once() -> None:
    played = _played(Nature(), 1, kills=0, failures=0.0)
    _judge(played)
    assert sum(played.witness.ends.values()) == sum(len(job.tasks) for job in played.ended)
    assert all(task.attempt is not None for job in played.ended for task in job.tasks)
    attempts = {task.attempt.number for job in played.ended for task in job.tasks if task.attempt}
    assert attempts == {1}
