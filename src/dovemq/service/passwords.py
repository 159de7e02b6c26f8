"""Hashes and checks passwords: argon2id, in threads, few at a time since each needs memory.

A check takes the same time whether or not there is a password to compare with, so that the time
of an answer does not show which accounts exist.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

import argon2

from dovemq.core import limits
from dovemq.core.errors import Busy

T = TypeVar("T")

HASHINGS_MAX: Final = 2
"""Hashings at the same time; each takes 64 MiB."""
WAITING_MAX: Final = 64


class Passwords:
    def __init__(self, hasher: argon2.PasswordHasher) -> None:
        self._hasher = hasher
        self._turn = asyncio.Semaphore(HASHINGS_MAX)
        self._waiting = 0

    async def hash(self, password: str) -> str:
        return await self._in_turn(lambda: self._hasher.hash(password))

    async def holds(self, password_hash: str | None, password: str) -> bool:
        return await self._in_turn(lambda: self._holds(password_hash, password))

    def stale(self, password_hash: str) -> bool:
        """Whether the hash was made with other parameters than those in use now."""
        return self._hasher.check_needs_rehash(password_hash)

    def _holds(self, password_hash: str | None, password: str) -> bool:
        if password_hash is None or len(password) > limits.PASSWORD_LENGTH.most:
            self._hasher.hash(password[: limits.PASSWORD_LENGTH.most])
            return False
        try:
            return self._hasher.verify(password_hash, password)
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return False

    async def _in_turn(self, work: Callable[[], T]) -> T:
        if self._waiting >= WAITING_MAX:
            raise Busy("Too many passwords are being checked")
        self._waiting += 1
        # The thread goes on without a caller that leaves, and keeps its turn until it is done.
        working = asyncio.ensure_future(self._work(work))
        working.add_done_callback(self._worked)
        return await asyncio.shield(working)

    async def _work(self, work: Callable[[], T]) -> T:
        async with self._turn:
            return await asyncio.to_thread(work)

    def _worked(self, working: "asyncio.Future[T]") -> None:
        self._waiting -= 1
        if not working.cancelled():
            # Read the exception, so that asyncio does not log it when the caller has gone.
            working.exception()
