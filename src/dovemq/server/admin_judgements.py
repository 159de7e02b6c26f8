"""The route that says whether an account may do something on a queue, and why.

It uses the same rules and values as the SQS endpoint.
"""

from typing import Final

import msgspec

from dovemq.core.accounts import Role
from dovemq.core.errors import QueueMissing
from dovemq.core.queue import Queue
from dovemq.server.admin_accounts import named_account
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document
from dovemq.sqs.arns import QueueNames
from dovemq.sqs.authorisation import AccessDecision, explain
from dovemq.sqs.context import Context, address_of
from dovemq.sqs.rights import NEEDED

_OPERATIONS: Final = {name.lower(): name for name in NEEDED}
_FLAGS: Final = {"": False, "false": False, "true": True}


@AdminRoute(
    "GET",
    "/v1/accounts/{account}/may",
    Role.ADMIN,
    query=("action", "address", "queue", "secure", "user_agent"),
)
async def judge(admin: AdminContext, call: AdminCall) -> Document:
    """Whether the account may use the action on the queue, and the result of each statement of its
    policy. Conditions compare address, secure and user agent.
    """
    account = named_account(admin, call)
    operation = _operation(call.query.get("action", ""))
    queue = await _queue(admin, account.number, call.query.get("queue", ""))
    context = _context(admin, call)
    judgement = explain(queue, account.number, operation, context, QueueNames(admin.region))
    if not account.enabled:
        judgement = AccessDecision(False, "the account is disabled, so its keys are invalid")
    return {
        "account": account.number,
        "action": operation,
        "queue": str(queue.key) if queue else None,
        **msgspec.to_builtins(judgement),
    }


def _operation(action: str) -> str:
    """The operation of that name in any case, with or without `sqs:`."""
    found = _OPERATIONS.get(action.lower().removeprefix("sqs:"))
    if found is None:
        raise AdminRefusal(
            "InvalidValue", "action must be an operation of SQS, such as SendMessage."
        )
    return found


async def _queue(admin: AdminContext, account: str, text: str) -> Queue | None:
    if not text:
        raise AdminRefusal("InvalidValue", "queue must be a URL, an ARN, number/name, or a name.")
    names = QueueNames(admin.region)
    try:
        key = names.key_of_arn(text) or names.key_of_url(text, account)
        return await admin.service.queues.find(key)
    except QueueMissing:
        return None


def _context(admin: AdminContext, call: AdminCall) -> Context:
    address = call.query.get("address", "")
    if address and address_of(address) is None:
        raise AdminRefusal("InvalidValue", "address must be an IP address.")
    secure = _FLAGS.get(call.query.get("secure", ""))
    if secure is None:
        raise AdminRefusal("InvalidValue", "secure must be true or false.")
    return Context(admin.now_ms, address, secure, call.query.get("user_agent"))
