"""Jobs and tasks are counted once, when their changes are stored, under a bounded set of labels."""

from prometheus_client.parser import text_string_to_metric_families

from dovemq.core.workflows.transitions import Cancelled, Ended, Event, Failed, Retried, Started
from dovemq.telemetry.meter import Meter
from dovemq.telemetry.metrics import OTHER, exposition
from dovemq.telemetry.workflow_meter import BoundedTallies, JobTally
from tests.service.world import ACCOUNT, World

PATH = {"path": ["A", "B"], "attempts_max": 2}


class Counted:
    def __init__(self) -> None:
        self.meter = Meter()
        self.world = World(observer=self.meter)
        self.workflows = self.world.service.workflows

    async def job(self) -> str:
        return (await self.workflows.jobs.submit(ACCOUNT, "x", None)).job_id

    async def tell(self, job_id: str, *events: Event) -> None:
        for event in events:
            await self.workflows.jobs.change(ACCOUNT, job_id, event)

    def values(self, name: str) -> dict[str, float]:
        """The values of a counter by its last labels, without those that are zero."""
        text = exposition(self.meter.workflows.samples()).decode()
        found = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == name and sample.value:
                    labels = (sample.labels.get(each) for each in ("type", "topic", "outcome"))
                    found[" ".join(filter(None, labels))] = sample.value
        return found


async def counted() -> Counted:
    made = Counted()
    await made.workflows.specs.put(ACCOUNT, "x", PATH)
    return made


async def test_job_that_ends_has_a_response_time_and_its_tasks_have_service_times() -> None:
    counts = await counted()
    job = await counts.job()
    await counts.tell(job, Started("A", 1, "w"), Ended("A", 1, "w", 200.0))
    counts.world.clock.advance(4_000)
    await counts.tell(job, Started("B", 1, "w"), Ended("B", 1, "w", 3_000.0))
    assert counts.values("dovemq_workflow_jobs_total") == {"x started": 1, "x ended": 1}
    tasks = {"A started": 1, "A ended": 1, "B started": 1, "B ended": 1}
    assert counts.values("dovemq_workflow_tasks_total") == tasks
    assert counts.values("dovemq_workflow_job_seconds_sum") == {"x": 4.0}
    assert counts.values("dovemq_workflow_task_seconds_sum") == {"A": 0.2, "B": 3.0}
    assert counts.values("dovemq_workflow_task_seconds_count") == {"A": 1, "B": 1}


async def test_event_that_arrives_twice_is_counted_once() -> None:
    counts = await counted()
    job = await counts.job()
    events = Started("A", 1, "w"), Ended("A", 1, "w", 200.0)
    await counts.tell(job, *events, *events)
    assert counts.values("dovemq_workflow_tasks_total") == {"A started": 1, "A ended": 1}


async def test_attempts_after_the_first_are_retried_and_the_last_one_fails() -> None:
    counts = await counted()
    job = await counts.job()
    for attempt in (1, 2):
        await counts.tell(job, Started("A", attempt, "w"), Failed("A", attempt, "w", 5.0, "no"))
    tasks = {"A started": 2, "A retried": 1, "A failed": 1}
    assert counts.values("dovemq_workflow_tasks_total") == tasks
    assert counts.values("dovemq_workflow_jobs_total") == {"x started": 1, "x failed": 1}
    await counts.tell(job, Retried(), Cancelled())
    jobs = {"x started": 1, "x failed": 1, "x retried": 1, "x cancelled": 1}
    assert counts.values("dovemq_workflow_jobs_total") == jobs
    assert counts.values("dovemq_workflow_tasks_total")["A retried"] == 2


def test_labels_beyond_the_limit_are_counted_together() -> None:
    tallies = BoundedTallies(JobTally, 2)
    for name in ("a", "b", "c", "d", "a"):
        tallies.of(("0", name)).started += 1
    found = {labels[1]: tally.started for labels, tally in tallies.items()}
    assert found == {"a": 2, "b": 1, OTHER: 2}
