"""The route for the front ends that share a store."""

from dovemq.core.accounts import Role
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRoute
from dovemq.server.admin_views import Document


@AdminRoute("GET", "/v1/cluster", Role.VIEWER)
async def show_cluster(admin: AdminContext, call: AdminCall) -> Document:
    """Front ends that share the store, owners and epochs of partitions, links and recoveries."""
    return await admin.cluster_status.current(admin.now_ms)
