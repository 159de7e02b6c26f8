"""Clients of a running server, for asyncio and for programs without it.

The package owns connections, signatures and typed answers. It imports no store and no server.
"""

from dovemq.client.admin import AdminClient as AdminClient
from dovemq.client.connecting import BlockingQueueSession as BlockingQueueSession
from dovemq.client.connecting import QueueSession as QueueSession
from dovemq.client.connecting import connect as connect
from dovemq.client.connecting import connect_async as connect_async
from dovemq.client.errors import AnswerMalformed as AnswerMalformed
from dovemq.client.errors import ClientError as ClientError
from dovemq.client.errors import Refused as Refused
from dovemq.client.errors import TimedOut as TimedOut
from dovemq.client.errors import Unreachable as Unreachable
from dovemq.client.errors import Untrusted as Untrusted
from dovemq.client.errors import WrongRole as WrongRole
from dovemq.client.heartbeat import LeaseKeeper as LeaseKeeper
from dovemq.client.heartbeat import kept_lease as kept_lease
from dovemq.client.sqs import SqsClient as SqsClient
from dovemq.client.sync import BlockingAdminClient as BlockingAdminClient
from dovemq.client.sync import BlockingSqsClient as BlockingSqsClient
from dovemq.client.sync import BlockingWorkflowClient as BlockingWorkflowClient
from dovemq.client.workflows import WorkflowClient as WorkflowClient
