"""Secrets that all front ends of a store share, kept in its records."""

from collections.abc import Callable
from typing import Final

from dovemq.core.errors import Busy
from dovemq.stores.owned.logged.ports import Records

ATTEMPTS_MAX: Final = 5


async def shared_secret(records: Records, name: str, new_key: Callable[[], bytes]) -> bytes:
    """The secret of that name, made by the front end that needs it first."""
    for _ in range(ATTEMPTS_MAX):
        record = await records.get("secret", name)
        if record is not None:
            return record.value
        await records.put("secret", name, new_key(), 0)
    raise Busy(f"The secret {name!r} could not be stored")
