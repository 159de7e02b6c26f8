"""Sends what is in the outbox of a job to the queues of its topics."""

import json
import logging
from collections.abc import Callable, Sequence

import msgspec

from dovemq.core.errors import DoveError, QueueMissing
from dovemq.core.message import Attribute
from dovemq.core.queue import Queue, QueueKey
from dovemq.core.sending import new_draft
from dovemq.core.workflows.documents import TaskMessage, task_message
from dovemq.core.workflows.jobs import Job, Publication
from dovemq.core.workflows.specification import WorkflowSpec, dead_queue_name, queue_name
from dovemq.service.messages import Messages
from dovemq.service.queues import Queues

log = logging.getLogger(__name__)


class TopicPublisher:
    def __init__(self, queues: Queues, messages: Messages, new_id: Callable[[], str]) -> None:
        self._queues = queues
        self._messages = messages
        self._new_id = new_id

    async def publish(
        self, job: Job, spec: WorkflowSpec, publications: Sequence[Publication]
    ) -> tuple[Publication, ...]:
        """Send messages; returns those that were sent. The others stay for the review."""
        sent: list[Publication] = []
        for publication in publications:
            message = task_message(job, spec.routes[job.route], publication)
            try:
                await self._send(message, publication)
            except DoveError as error:
                log.warning(
                    "task %s of job %s is not published yet: %s",
                    publication.task,
                    job.job_id,
                    error,
                )
            else:
                sent.append(publication)
        return tuple(sent)

    async def _send(self, message: TaskMessage, publication: Publication) -> None:
        name = dead_queue_name if publication.dead else queue_name
        queue = await self._queue(QueueKey(message.account, name(message.topic)))
        draft = new_draft(
            queue,
            message_id=self._new_id(),
            # In ASCII, since a message must not have some characters that JSON may.
            body=json.dumps(msgspec.to_builtins(message), separators=(",", ":")),
            sender=message.account,
            delay_ms=publication.delay_ms,
            attributes={
                "dovemq.job_type": Attribute("String", message.type),
                "dovemq.job_id": Attribute("String", message.job_id),
                "dovemq.task": Attribute("String", message.task),
            },
        )
        await self._messages.send(queue, [draft])

    async def _queue(self, key: QueueKey) -> Queue:
        try:
            return await self._queues.find(key)
        except QueueMissing:
            # Somebody has removed the queue of a topic that jobs still need.
            return await self._queues.create(key, {}, {})
