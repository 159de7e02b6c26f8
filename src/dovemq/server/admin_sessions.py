"""Logging in to the admin API by password, for people; programs sign their requests."""

from http import HTTPStatus
from typing import Final

from msgspec import Struct

from dovemq.core.errors import AccessDenied, AccountMissing, Throttled
from dovemq.http import client_of
from dovemq.server.admin_desk import AdminRefusal, Asked, Caller, Desk, Route
from dovemq.server.admin_views import Document


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    account: str
    password: str

    def __repr__(self) -> str:
        return f"Login({self.account!r})"


async def log_in(desk: Desk, asked: Asked) -> Document:
    login: Login = asked.body
    asked.target = _number(desk, login.account)
    who, failures = f"{asked.target} {client_of(asked.peer)}", desk.failures
    if wait_ms := failures.wait_ms(who, desk.now_ms):
        raise Throttled("Too many wrong passwords; try later.", wait_ms)
    # Taken for wrong until it is known to be right: many may be asked about at a time.
    failures.failed(who, desk.now_ms)
    account = await desk.service.accounts.password_holds(login.account, login.password)
    if account is None:
        raise AccessDenied("There is no such account, or this is not its password.")
    failures.forgive(who)
    token, session = desk.sessions.open(account.number, desk.now_ms)
    asked.caller = Caller(account, token=token)
    return {"token": token, **_session_document(asked.caller), "ends_ms": session.ends_ms}


async def show_session(desk: Desk, asked: Asked) -> Document:
    assert asked.caller is not None
    return _session_document(asked.caller)


async def log_out(desk: Desk, asked: Asked) -> Document:
    assert asked.caller is not None
    if asked.caller.token is None:
        raise AdminRefusal(
            HTTPStatus.NOT_FOUND, "NoSession", "The request is signed by a key, not by a login."
        )
    desk.sessions.end(asked.caller.token)
    return {"ended": True}


def _number(desk: Desk, text: str) -> str:
    """Empty if there is no such account: somebody may have typed a password there."""
    try:
        return desk.service.accounts.resolve(text).number
    except AccountMissing:
        return ""


def _session_document(caller: Caller) -> Document:
    account = caller.account
    return {
        "account": account.number,
        "name": account.name,
        "role": account.role.value if account.role else None,
    }


SESSION_ROUTES: Final = (
    Route(
        "log in",
        "POST",
        "/v1/sessions",
        "A token for `Authorization: Bearer`: 12 hours at most, one without use.",
        log_in,
        None,
        body=Login,
        signed=False,
        audited=True,
        unrecorded=("account", "password"),
    ),
    Route(
        "show session",
        "GET",
        "/v1/sessions/current",
        "Who asks, and in which role.",
        show_session,
        None,
    ),
    Route(
        "log out",
        "DELETE",
        "/v1/sessions/current",
        "Ends the session of this token.",
        log_out,
        None,
        audited=True,
    ),
)
