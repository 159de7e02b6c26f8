"""The route for what an account uses of its quotas."""

import contextlib

import msgspec

from dovemq.core.accounts import Role
from dovemq.core.errors import QueueMissing
from dovemq.server.admin_accounts import named_account
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRoute
from dovemq.server.admin_views import Document


@AdminRoute("GET", "/v1/accounts/{account}/usage", Role.ADMIN, own=True)
async def show_usage(admin: AdminContext, call: AdminCall) -> Document:
    """Quotas of an account, and its queues, messages and bytes; one's own by number."""
    account = named_account(admin, call)
    queues = admin.service.queues
    count = messages = size = 0
    async for queue in queues.each(account.number):
        with contextlib.suppress(QueueMissing):
            # It was removed meanwhile.
            counts = await queues.counts(queue)
            count += 1
            messages += counts.visible + counts.leased + counts.delayed
            size += counts.bytes
    return {
        "account": account.number,
        "quotas": msgspec.structs.asdict(account.quotas),
        "used": {"queues": count, "messages": messages, "bytes": size},
    }
