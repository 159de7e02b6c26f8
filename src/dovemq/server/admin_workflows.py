"""Routes for workflows: specifications of types of jobs, and the jobs that are submitted."""

from typing import Any, Final

from msgspec import Struct

from dovemq.core.accounts import Role, check_number
from dovemq.core.errors import AccessDenied
from dovemq.core.workflows.documents import job_document, specification_document
from dovemq.core.workflows.jobs import INPUT_BYTES_MAX
from dovemq.core.workflows.specification import VERSIONS
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRoute
from dovemq.server.admin_views import Document

SPECIFICATION_BYTES_MAX: Final = 256 << 10
JOB_BODY_BYTES_MAX: Final = 4 * INPUT_BYTES_MAX
"""An input may be written with escapes, and has the key beside it."""


class NewWorkflow(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table `[jobs.TYPE]` of a file, with the settings of its topics."""

    path: list[str] | None = None
    tasks: dict[str, Any] | None = None
    flow: dict[str, Any] | None = None
    joins: list[str] = []
    routes: list[Any] | None = None
    topics: dict[str, Any] = {}
    attempts_max: int = 3
    backoff_seconds: int = 1
    patience_seconds: int = 86_400
    retention_seconds: int = 7 * 86_400

    def table(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value not in (None, [], {})}


class NewJob(Struct, frozen=True, forbid_unknown_fields=True):
    """`key` makes the request safe to repeat: the same key gives the same job for a day."""

    input: Any = None
    key: str | None = None


def account_of(call: AdminCall, role: Role) -> str:
    """The account that is named in the query, which needs the role, or one's own."""
    account = call.query.get("account") or call.own_account
    if account != call.own_account:
        check_number(account)
        assert call.caller is not None
        held = call.caller.account.role
        if held is None or not held.covers(role):
            raise AccessDenied(f"Workflows of another account need the role {role.value}.")
    return account


@AdminRoute("GET", "/v1/workflows", Role.VIEWER, query=("account",), own=True)
async def list_workflows(admin: AdminContext, call: AdminCall) -> Document:
    """The newest version of each workflow of an account, by type."""
    specs = await admin.service.workflows.specs.listing(account_of(call, Role.VIEWER))
    return {"workflows": [specification_document(spec) for spec in specs]}


@AdminRoute("GET", "/v1/workflows/{type}", Role.VIEWER, query=("account", "version"), own=True)
async def show_workflow(admin: AdminContext, call: AdminCall) -> Document:
    """The specification of a workflow: its newest version, or the one that is asked for."""
    account, type_ = account_of(call, Role.VIEWER), call.path["type"]
    specs = admin.service.workflows.specs
    number = call.number("version", 0, VERSIONS)
    found = await (
        specs.version(account, type_, number) if number else specs.newest(account, type_)
    )
    return specification_document(found)


@AdminRoute(
    "PUT",
    "/v1/workflows/{type}",
    Role.ADMIN,
    query=("account",),
    body=NewWorkflow,
    body_bytes_max=SPECIFICATION_BYTES_MAX,
    audited=True,
    own=True,
)
async def put_workflow(admin: AdminContext, call: AdminCall) -> Document:
    """Stores a specification as a new version, and creates the queues of its topics.

    What says the same as the newest version is that version.
    """
    wanted: NewWorkflow = call.body
    account = account_of(call, Role.ADMIN)
    specs = admin.service.workflows.specs
    return specification_document(await specs.put(account, call.path["type"], wanted.table()))


@AdminRoute(
    "POST",
    "/v1/workflows/{type}/jobs",
    Role.OPERATOR,
    query=("account",),
    body=NewJob,
    body_bytes_max=JOB_BODY_BYTES_MAX,
    own=True,
)
async def submit_job(admin: AdminContext, call: AdminCall) -> Document:
    """Starts a job on the newest version, with an input of up to 64 KiB of JSON."""
    wanted: NewJob = call.body
    account = account_of(call, Role.OPERATOR)
    jobs = admin.service.workflows.jobs
    job = await jobs.submit(account, call.path["type"], wanted.input, wanted.key)
    return job_document(job, await jobs.spec_of(job))
