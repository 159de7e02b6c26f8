"""Logins to the admin API: a random token for a while, of which only the hash is kept.

In memory alone: after a restart people log in again.
"""

import hashlib
import secrets
from collections.abc import Callable
from typing import Final

from dovemq.core.errors import Busy
from dovemq.core.limits import MINUTE_MS

TOKEN_BYTES: Final = 32
LIFETIME_MS_MAX: Final = 12 * 60 * MINUTE_MS
IDLE_MS_MAX: Final = 60 * MINUTE_MS
SESSIONS_MAX: Final = 10_000
ACCOUNT_SESSIONS_MAX: Final = 16
"""Of one account; the one that was used least recently ends for a new one."""


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


class LoginSession:
    __slots__ = ("account", "opened_ms", "used_ms")

    def __init__(self, account: str, now_ms: int) -> None:
        self.account = account
        self.opened_ms = self.used_ms = now_ms

    def ended(self, now_ms: int) -> bool:
        return now_ms - self.used_ms > IDLE_MS_MAX or now_ms >= self.ends_ms

    @property
    def ends_ms(self) -> int:
        """At the latest."""
        return self.opened_ms + LIFETIME_MS_MAX


class Sessions:
    def __init__(self, new_token: Callable[[], str] = new_token) -> None:
        self._new_token = new_token
        # The least recently used first.
        self._sessions: dict[bytes, LoginSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, account: str, now_ms: int) -> tuple[str, LoginSession]:
        """The token, which is told only here."""
        own = [name for name, each in self._sessions.items() if each.account == account]
        if len(own) >= ACCOUNT_SESSIONS_MAX:
            del self._sessions[own[0]]
        if len(self._sessions) >= SESSIONS_MAX:
            self._drop_ended(now_ms)
        if len(self._sessions) >= SESSIONS_MAX:
            raise Busy(f"{SESSIONS_MAX} people are logged in already")
        token = self._new_token()
        session = LoginSession(account, now_ms)
        self._sessions[_digest(token)] = session
        return token, session

    def use(self, token: str, now_ms: int) -> LoginSession | None:
        """None if there is no such session, or it has ended."""
        name = _digest(token)
        session = self._sessions.pop(name, None)
        if session is None or session.ended(now_ms):
            return None
        session.used_ms = now_ms
        self._sessions[name] = session
        return session

    def end(self, token: str) -> None:
        self._sessions.pop(_digest(token), None)

    def end_all(self, account: str) -> None:
        for name in [name for name, each in self._sessions.items() if each.account == account]:
            del self._sessions[name]

    def _drop_ended(self, now_ms: int) -> None:
        for name in [name for name, each in self._sessions.items() if each.ended(now_ms)]:
            del self._sessions[name]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
