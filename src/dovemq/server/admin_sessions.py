"""Routes to log in to the admin API by password, for people; programs sign their requests."""

import asyncio
from http import HTTPStatus

import msgspec
from msgspec import Struct

from dovemq.core.accounts import Account
from dovemq.core.errors import AccessDenied, AccountMissing
from dovemq.http import HttpRequest, HttpResponse, client_of
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute, Caller
from dovemq.server.admin_views import JSON, Document
from dovemq.server.cookies import check_same_site, csrf_of, set_cookie


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a login. `cookie` sets the token as a cookie, for the pages of a browser."""

    account: str
    password: str
    cookie: bool = False

    def __repr__(self) -> str:
        return f"Login({self.account!r})"


@AdminRoute(
    "POST",
    "/v1/sessions",
    None,
    body=Login,
    signed=False,
    audited=True,
    unrecorded=("account", "password"),
)
async def log_in(admin: AdminContext, call: AdminCall) -> Document | HttpResponse:
    """Returns a token for `Authorization: Bearer`, valid for 12 hours, or 1 hour without use.

    With `cookie` a browser gets the token as a cookie that scripts cannot read, and the answer has
    `csrf`, which each change then needs in the header X-DoveMQ-CSRF.
    """
    login: Login = call.body
    request = call.origin
    assert request is not None
    if login.cookie:
        check_same_site(request)
    call.target = _number(admin, login.account)
    account = await _checked(admin, login, client_of(call.peer))
    if account is None:
        raise AccessDenied("There is no such account, or this is not its password.")
    token, session = admin.sessions.open(account.number, admin.now_ms)
    call.caller = Caller(account, token=token, in_cookie=login.cookie)
    shown = {**_session_document(call.caller), "ends_ms": session.ends_ms}
    if login.cookie:
        return _with_cookie(request, shown, token)
    return {"token": token, **shown}


async def _checked(admin: AdminContext, login: Login, client: str) -> Account | None:
    admin.logins.begin(login.account, client, admin.now_ms)
    checking = asyncio.ensure_future(
        admin.service.accounts.password_holds(login.account, login.password)
    )

    def finished(done: "asyncio.Future[Account | None]") -> None:
        admin.logins.finish(client)
        if done.cancelled() or done.exception() is not None or done.result() is not None:
            # It is no failure if the password was right, or was not checked.
            admin.logins.succeeded(login.account, client)

    # The check goes on without a client that leaves, and still counts for its address.
    checking.add_done_callback(finished)
    return await asyncio.shield(checking)


@AdminRoute("GET", "/v1/sessions/current", None)
async def show_session(admin: AdminContext, call: AdminCall) -> Document:
    """The calling account and its role."""
    assert call.caller is not None
    return _session_document(call.caller)


@AdminRoute("DELETE", "/v1/sessions/current", None, audited=True)
async def log_out(admin: AdminContext, call: AdminCall) -> Document | HttpResponse:
    """Ends the session of this token."""
    assert call.caller is not None
    if call.caller.token is None:
        text = "The request uses an access key, not a session."
        raise AdminRefusal("NoSession", text, HTTPStatus.NOT_FOUND)
    admin.sessions.end(call.caller.token)
    if call.caller.in_cookie and call.origin is not None:
        return _with_cookie(call.origin, {"ended": True}, "")
    return {"ended": True}


def _with_cookie(request: HttpRequest, document: Document, token: str) -> HttpResponse:
    header = set_cookie(request.headers.get("host", ""), token, secure=request.secure)
    return HttpResponse(HTTPStatus.OK, JSON, msgspec.json.encode(document), (header,))


def _number(admin: AdminContext, text: str) -> str:
    """The number of an account; empty if there is none, since the text may be a password."""
    try:
        return admin.service.accounts.resolve(text).number
    except AccountMissing:
        return ""


def _session_document(caller: Caller) -> Document:
    account = caller.account
    document = {
        "account": account.number,
        "name": account.name,
        "role": account.role.value if account.role else None,
    }
    if caller.in_cookie and caller.token is not None:
        document["csrf"] = csrf_of(caller.token)
    return document
