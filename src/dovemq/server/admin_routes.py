"""All routes of the admin API, in the order of its reference page."""

from typing import Final

from dovemq.server import (
    admin_accounts,
    admin_cluster,
    admin_consistency,
    admin_credentials,
    admin_jobs,
    admin_judgements,
    admin_messages,
    admin_moves,
    admin_overview,
    admin_prediction,
    admin_queues,
    admin_sessions,
    admin_sizing,
    admin_store,
    admin_usage,
    admin_workflows,
)
from dovemq.server.admin_context import AdminRoute

_MODULES: Final = (
    admin_store,
    admin_cluster,
    admin_overview,
    admin_queues,
    admin_messages,
    admin_moves,
    admin_prediction,
    admin_consistency,
    admin_workflows,
    admin_jobs,
    admin_sizing,
    admin_accounts,
    admin_usage,
    admin_judgements,
    admin_credentials,
    admin_sessions,
)
ROUTES: Final = tuple(
    found for module in _MODULES for found in vars(module).values() if isinstance(found, AdminRoute)
)
