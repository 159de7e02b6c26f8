"""The route for the front ends that share a store."""

from http import HTTPStatus

from dovemq.core.accounts import Role
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_views import Document


@AdminRoute("GET", "/v1/cluster", Role.VIEWER)
async def show_cluster(admin: AdminContext, call: AdminCall) -> Document:
    """Front ends that share the store, owners and epochs of partitions, links and recoveries."""
    if admin.cluster is None:
        text = "The store of this server belongs to it alone; see --store."
        raise AdminRefusal("NotShared", text, HTTPStatus.NOT_FOUND)
    return await admin.cluster.status()
