"""Logins to the admin API: their limits, and the sessions that they open.

A session is a random token that is valid for a while. Only its hash is kept, and only in memory:
after a restart people log in again.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from dovemq.core.errors import Busy, Throttled
from dovemq.core.limits import MINUTE_MS
from dovemq.service.failure_limits import FailureLimit

TOKEN_BYTES: Final = 32
LIFETIME_MS_MAX: Final = 12 * 60 * MINUTE_MS
IDLE_MS_MAX: Final = 60 * MINUTE_MS
SESSIONS_MAX: Final = 10_000
ACCOUNT_SESSIONS_MAX: Final = 16
"""Sessions of one account; a new one ends the least recently used."""
ADDRESS_LOGINS_MAX: Final = 8
BUSY_WAIT_MS: Final = 1_000


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


class LoginSession(Struct):
    account: str
    opened_ms: int
    used_ms: int

    def ended(self, now_ms: int) -> bool:
        return now_ms - self.used_ms > IDLE_MS_MAX or now_ms >= self.ends_ms

    @property
    def ends_ms(self) -> int:
        """The end of the session, however often it is used."""
        return self.opened_ms + LIFETIME_MS_MAX


class Sessions:
    def __init__(self, new_token: Callable[[], str] = new_token) -> None:
        self._new_token = new_token
        # The least recently used first.
        self._sessions: dict[bytes, LoginSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, account: str, now_ms: int) -> tuple[str, LoginSession]:
        """Open a session. The token is returned here and nowhere else."""
        own = [name for name, each in self._sessions.items() if each.account == account]
        if len(own) >= ACCOUNT_SESSIONS_MAX:
            del self._sessions[own[0]]
        if len(self._sessions) >= SESSIONS_MAX:
            self._drop(lambda each: each.ended(now_ms))
        if len(self._sessions) >= SESSIONS_MAX:
            raise Busy(f"{SESSIONS_MAX} sessions are open already")
        token = self._new_token()
        session = LoginSession(account, now_ms, now_ms)
        self._sessions[_digest(token)] = session
        return token, session

    def use(self, token: str, now_ms: int) -> LoginSession | None:
        """The session of a token, or None if there is none or it has ended."""
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
        self._drop(lambda each: each.account == account)

    def _drop(self, unwanted: Callable[[LoginSession], bool]) -> None:
        for name in [name for name, each in self._sessions.items() if unwanted(each)]:
            del self._sessions[name]


@dataclass(slots=True)
class LoginLimits:
    """Bounds the wrong passwords of an account and the concurrent logins of an address.

    Accounts that exist and names that do not are limited alike, so that the limits do not show
    which accounts exist. The failures of one account do not delay the logins to another.
    """

    _failures: FailureLimit
    _address_logins_max: int = ADDRESS_LOGINS_MAX
    _under_way: dict[str, int] = field(default_factory=dict)

    def begin(self, account: str, client: str, now_ms: int) -> None:
        """Count a login that is about to be checked; raise `Throttled` if it must wait.

        It counts as a failure until `succeeded`, since many logins may be checked at once.
        """
        if wait_ms := self._failures.wait_ms(_login_key(account, client), now_ms):
            raise Throttled("Too many wrong passwords; try again later.", wait_ms)
        count = self._under_way.get(client, 0)
        if count >= self._address_logins_max:
            raise Throttled("Too many logins from this address at once; try again.", BUSY_WAIT_MS)
        self._under_way[client] = count + 1
        self._failures.record(_login_key(account, client), now_ms)

    def succeeded(self, account: str, client: str) -> None:
        self._failures.withdraw(_login_key(account, client))

    def finish(self, client: str) -> None:
        """The check has ended, whatever its outcome."""
        self._under_way[client] -= 1
        if not self._under_way[client]:
            del self._under_way[client]


def _login_key(account: str, client: str) -> str:
    # Hashed, because the key is logged and people type passwords into the wrong field. Python's
    # hashes have a random seed in each process.
    return f"{client} {hash(account):x}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
