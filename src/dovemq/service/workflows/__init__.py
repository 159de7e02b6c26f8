"""Use cases of workflows over a store's ledger and queues: specifications, jobs, their repair."""

from collections.abc import Callable

from msgspec import Struct

from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.service.messages import Messages
from dovemq.service.queues import Queues
from dovemq.service.workflows.jobs import WorkflowJobs as WorkflowJobs
from dovemq.service.workflows.publishing import TopicPublisher
from dovemq.service.workflows.sizing_records import SizingRecords
from dovemq.service.workflows.specifications import WorkflowSpecs as WorkflowSpecs
from dovemq.service.workflows.sweeping import WorkflowSweeper as WorkflowSweeper


class Workflows(Struct, frozen=True):
    specs: WorkflowSpecs
    jobs: WorkflowJobs
    sweeper: WorkflowSweeper
    sizing: SizingRecords


def build_workflows(
    store: Store,
    clock: Clock,
    new_id: Callable[[], str],
    queues: Queues,
    messages: Messages,
    observer: Observer,
) -> Workflows:
    specs = WorkflowSpecs(store, clock, queues)
    publisher = TopicPublisher(queues, messages, new_id)
    jobs = WorkflowJobs(store, clock, new_id, specs, publisher, observer)
    return Workflows(specs, jobs, WorkflowSweeper(store, clock, jobs), SizingRecords(store, clock))
