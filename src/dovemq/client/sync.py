"""The clients for programs without asyncio, each over a loop in a background thread."""

import contextlib
from collections.abc import Iterator
from typing import Unpack

from dovemq.client.admin import AdminClient
from dovemq.client.blocking import LoopThread, OwningFace, blocking
from dovemq.client.heartbeat import LeaseKeeper
from dovemq.client.session import SessionOptions
from dovemq.client.sqs import SqsClient
from dovemq.client.workflows import WorkflowClient
from dovemq.core.access import AccessKey


class BlockingSqsClient(OwningFace[SqsClient]):
    def __init__(
        self, endpoint_url: str, key: AccessKey | None = None, **options: Unpack[SessionOptions]
    ) -> None:
        super().__init__(SqsClient(endpoint_url, key, **options), LoopThread("dovemq-client"))

    call = blocking(SqsClient.call)
    create_queue = blocking(SqsClient.create_queue)
    queue_url = blocking(SqsClient.queue_url)
    queue_urls = blocking(SqsClient.queue_urls)
    attributes = blocking(SqsClient.attributes)
    set_attributes = blocking(SqsClient.set_attributes)
    tags = blocking(SqsClient.tags)
    tag = blocking(SqsClient.tag)
    untag = blocking(SqsClient.untag)
    purge = blocking(SqsClient.purge)
    delete_queue = blocking(SqsClient.delete_queue)
    send = blocking(SqsClient.send)
    send_batch = blocking(SqsClient.send_batch)
    receive = blocking(SqsClient.receive)
    settle = blocking(SqsClient.settle)
    settle_batch = blocking(SqsClient.settle_batch)
    extend = blocking(SqsClient.extend)
    extend_batch = blocking(SqsClient.extend_batch)
    start_move = blocking(SqsClient.start_move)
    moves = blocking(SqsClient.moves)
    cancel_move = blocking(SqsClient.cancel_move)

    @contextlib.contextmanager
    def kept_lease(self, queue: str, receipt: str, lease_seconds: int) -> Iterator[LeaseKeeper]:
        """Renew the lease of a message while the block runs, however long that is."""
        keeper = LeaseKeeper(self._inner.extend, queue, receipt, lease_seconds)
        self._thread.run(keeper.start())
        try:
            yield keeper
        finally:
            self._thread.run(keeper.stop())


class BlockingAdminClient(OwningFace[AdminClient]):
    def __init__(
        self, admin_url: str, key: AccessKey | None = None, **options: Unpack[SessionOptions]
    ) -> None:
        super().__init__(AdminClient(admin_url, key, **options), LoopThread("dovemq-admin"))

    health = blocking(AdminClient.health)
    overview = blocking(AdminClient.overview)
    overview_queues = blocking(AdminClient.overview_queues)
    history = blocking(AdminClient.history)
    clients = blocking(AdminClient.clients)
    queues = blocking(AdminClient.queues)
    queue = blocking(AdminClient.queue)
    messages = blocking(AdminClient.messages)
    counters = blocking(AdminClient.counters)
    consistency = blocking(AdminClient.consistency)
    report_consistency = blocking(AdminClient.report_consistency)
    backup = blocking(AdminClient.backup)
    damage = blocking(AdminClient.damage)
    verify = blocking(AdminClient.verify)
    accounts = blocking(AdminClient.accounts)
    account = blocking(AdminClient.account)
    add_account = blocking(AdminClient.add_account)
    change_account = blocking(AdminClient.change_account)
    remove_account = blocking(AdminClient.remove_account)
    set_password = blocking(AdminClient.set_password)
    add_credential = blocking(AdminClient.add_credential)
    rotate_credential = blocking(AdminClient.rotate_credential)
    change_credential = blocking(AdminClient.change_credential)
    remove_credential = blocking(AdminClient.remove_credential)
    may = blocking(AdminClient.may)
    audit = blocking(AdminClient.audit)


class BlockingWorkflowClient(OwningFace[WorkflowClient]):
    def __init__(
        self, admin_url: str, key: AccessKey | None = None, **options: Unpack[SessionOptions]
    ) -> None:
        super().__init__(WorkflowClient(admin_url, key, **options), LoopThread("dovemq-workflows"))

    workflows = blocking(WorkflowClient.workflows)
    workflow = blocking(WorkflowClient.workflow)
    put_workflow = blocking(WorkflowClient.put_workflow)
    submit = blocking(WorkflowClient.submit)
    publish_sizing = blocking(WorkflowClient.publish_sizing)
    sizings = blocking(WorkflowClient.sizings)
    job = blocking(WorkflowClient.job)
    jobs = blocking(WorkflowClient.jobs)
    jobs_page = blocking(WorkflowClient.jobs_page)
    result = blocking(WorkflowClient.result)
    finished = blocking(WorkflowClient.finished)
    timeline = blocking(WorkflowClient.timeline)
    cancel = blocking(WorkflowClient.cancel)
    retry = blocking(WorkflowClient.retry)
    start_task = blocking(WorkflowClient.start_task)
    end_task = blocking(WorkflowClient.end_task)
    fail_task = blocking(WorkflowClient.fail_task)
