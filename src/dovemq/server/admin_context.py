"""The types that all routes of the admin API share: the call, its caller, the route itself."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.accounts import Account, Role
from dovemq.core.errors import AuditUnwritable, RequestError
from dovemq.core.hint_meters import HintMeters
from dovemq.core.queue import Queue, QueueKey
from dovemq.fabric.explaining import QueueExplanation
from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.admin_views import Document
from dovemq.server.answers import StreamedResponse
from dovemq.server.audit import AuditLog, MemoryAudit
from dovemq.server.backups import Backups
from dovemq.server.care import ClusterView, StoreCare
from dovemq.server.consistency_history import ConsistencyHistory
from dovemq.server.control_audit import ControlActions
from dovemq.server.measurements import Measurements
from dovemq.server.metrics import Metrics
from dovemq.server.predictions import Predictions
from dovemq.server.sessions import LoginLimits, Sessions
from dovemq.server.sharing import SharedRead
from dovemq.server.snapshots import Snapshots
from dovemq.service import Service
from dovemq.telemetry.tracing import TraceStatus

PAGE: Final = limits.Range(1, 1_000)
BODY_BYTES_MAX: Final = 64 << 10
"""Size of a body, unless the route allows more."""
PAGE_DEFAULT: Final = 100
"""Items of a list that are returned at once."""


class AdminRefusal(RequestError):
    """A refusal with its own code and status."""

    def __init__(
        self, code: str, message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Caller(Struct, frozen=True):
    """The account that calls, with the key that signed or the token of its session."""

    account: Account
    key_id: str | None = None
    token: str | None = None
    in_cookie: bool = False
    """The token came in the cookie of a browser."""


@dataclass(slots=True)
class AdminCall:
    """One request to a route: the variable parts of its path, its query and its body.

    The audit log records `target` and `notes`, which the route's function may correct and extend.
    """

    path: Mapping[str, str]
    caller: Caller | None
    peer: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    target: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    origin: HttpRequest | None = None

    def __post_init__(self) -> None:
        self.target = "/".join(self.path.values())

    @property
    def queue(self) -> QueueKey:
        return QueueKey(self.path["account"], self.path["name"])

    @property
    def own_account(self) -> str:
        """The number of the calling account."""
        assert self.caller is not None
        return self.caller.account.number

    def number(self, name: str, default: int, allowed: limits.Range) -> int:
        return self.number_of(name, self.query.get(name), default, allowed)

    def number_of(self, name: str, text: str | None, default: int, allowed: limits.Range) -> int:
        """The number in the text, which is the value of a parameter or a part of it."""
        if not text:
            return default
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(allowed.most))
        if not digits or not allowed.holds(int(text)):
            raise AdminRefusal(
                "InvalidValue", f"{name} must be a number from {allowed.least} to {allowed.most}."
            )
        return int(text)


@dataclass(slots=True)
class AdminContext:
    """The objects that the routes use. A store without care cannot be copied or verified."""

    service: Service
    gauges: Callable[[], Mapping[str, int]]
    care: StoreCare | None = None
    _: KW_ONLY
    new_id: Callable[[], str]
    cluster: ClusterView | None = None
    leaving: Callable[[], bool] = lambda: False
    """Whether the server will stop soon, and serves the requests that still come."""
    region: str = "us-east-1"
    logins: LoginLimits
    audit: AuditLog = field(default_factory=MemoryAudit)
    sessions: Sessions = field(default_factory=Sessions)
    explain: Callable[[Queue], Awaitable[QueueExplanation]] | None = None
    metrics: Metrics | None = None
    snapshots: Snapshots | None = None
    trace_status: Callable[[], TraceStatus] | None = None
    """None if the server writes no trace."""
    openapi: Document = field(default_factory=dict)
    """The OpenAPI document, which `AdminApi` makes from all routes."""
    measurements: Measurements = field(default_factory=Measurements)
    k_of: Callable[[Queue], int] = field(default_factory=lambda: HintMeters().k_of)
    """The number of messages among which a receive of the queue draws here."""
    consistency: ConsistencyHistory = field(init=False)
    backups: Backups | None = field(init=False)
    predictions: Predictions = field(init=False)
    control_actions: ControlActions = field(init=False)
    cluster_status: SharedRead[Document] = field(init=False)
    """The status of `cluster`, read once for all viewers."""
    verifying: bool = False
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while an account is read and then changed, if the change depends on what was read."""

    def __post_init__(self) -> None:
        self.backups = Backups(self.care) if self.care else None
        self.consistency = ConsistencyHistory(self.service.store, self.service.clock)
        self.control_actions = ControlActions(self.audit)
        self.cluster_status = SharedRead(self._read_cluster)
        self.predictions = Predictions(self.service, shared=self.cluster is not None)

    @property
    def now_ms(self) -> int:
        return self.service.clock.now_ms()

    @property
    def store_state(self) -> str:
        if self.care is None:
            return "ok"
        return str(msgspec.to_builtins(self.care.statistics)["state"])

    async def _read_cluster(self, now_ms: int) -> Document:
        if self.cluster is None:
            text = "The store of this server belongs to it alone; see --store."
            raise AdminRefusal("NotShared", text, HTTPStatus.NOT_FOUND)
        return await self.cluster.status()

    def unready_reason(self) -> str | None:
        """Why the server should get no requests now; None if it should."""
        if self.service.draining or self.leaving():
            return "The service is draining."
        if self.store_state != "ok":
            return f"The store is {self.store_state}."
        if self.cluster is not None and (reason := self.cluster.unready_reason()):
            return reason
        try:
            self.audit.check()
        except AuditUnwritable as error:
            return str(error)
        return None


Act = Callable[[AdminContext, AdminCall], Awaitable["Document | StreamedResponse | HttpResponse"]]


class AdminRoute(Struct, frozen=True):
    """One operation of the admin API.

    A route decorates the function that it calls. The function's name and docstring become the
    route's `name` and `summary`, which the reference shows.

    `role` is the least role that it needs. With None it is open to every account, or to everybody
    if it is not `signed`. With `own` an account needs no role for its own queues. `query` names
    the allowed parameters and `body` the type of the body; anything else is refused. If it is
    `audited` its calls are recorded, without the `unrecorded` fields of the body. `credentials`:
    it creates access or changes it, so it is refused while signatures are not checked. A larger
    body than `body_bytes_max` is refused.
    """

    method: str
    path: str
    role: Role | None
    query: tuple[str, ...] = ()
    body: type[Struct] | None = None
    signed: bool = True
    audited: bool = False
    unrecorded: tuple[str, ...] = ()
    own: bool = False
    credentials: bool = False
    body_bytes_max: int = BODY_BYTES_MAX
    name: str = ""
    summary: str = ""
    act: Act | None = None

    def __call__(self, act: Act) -> "AdminRoute":
        """The same route with this function."""
        name, summary = act.__name__.replace("_", " "), " ".join((act.__doc__ or "").split())
        return msgspec.structs.replace(self, name=name, summary=summary, act=act)
