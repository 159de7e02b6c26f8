"""The route that lists the audit log."""

from typing import Final

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.server.admin_context import PAGE, PAGE_DEFAULT, AdminCall, AdminContext, AdminRoute
from dovemq.server.admin_views import Document

_SEQUENCE: Final = limits.Range(0, 2**53)


async def list_audit(admin: AdminContext, call: AdminCall) -> Document:
    count_max = call.number("limit", PAGE_DEFAULT, PAGE)
    if not call.query.get("after"):
        return {"entries": await admin.audit.page(None, count_max), "next": None}
    entries = await admin.audit.page(call.number("after", 0, _SEQUENCE), count_max)
    return {
        "entries": entries,
        "next": entries[-1]["sequence"] if len(entries) == count_max else None,
    }


AUDIT_ROUTES: Final = (
    AdminRoute(
        "list audit",
        "GET",
        "/v1/audit",
        "Changes and denied changes, oldest first: those after a sequence, or the newest.",
        list_audit,
        Role.ADMIN,
        ("after", "limit"),
    ),
)
