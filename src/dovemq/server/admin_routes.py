"""All routes of the admin API in one table; its reference page is generated from it."""

from typing import Final

from dovemq.server.admin_accounts import ACCOUNT_ROUTES
from dovemq.server.admin_audit import AUDIT_ROUTES
from dovemq.server.admin_consistency import CONSISTENCY_ROUTES
from dovemq.server.admin_credentials import CREDENTIAL_ROUTES
from dovemq.server.admin_judgements import JUDGEMENT_ROUTES
from dovemq.server.admin_queues import QUEUE_ROUTES
from dovemq.server.admin_sessions import SESSION_ROUTES
from dovemq.server.admin_store import HEALTH_ROUTES, STORE_ROUTES

ROUTES: Final = (
    *HEALTH_ROUTES,
    *QUEUE_ROUTES,
    *CONSISTENCY_ROUTES,
    *STORE_ROUTES,
    *ACCOUNT_ROUTES,
    *JUDGEMENT_ROUTES,
    *CREDENTIAL_ROUTES,
    *SESSION_ROUTES,
    *AUDIT_ROUTES,
)
