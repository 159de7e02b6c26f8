"""Numbers that are given out once, in rising order, by all front ends together."""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import Busy
from dovemq.stores.owned.logged.ports import Records

KIND: Final = "counter"
ATTEMPTS_MAX: Final = 50


class _Counter(Struct, frozen=True):
    """`token` differs in each write: a database takes a repeated write of a value as the same."""

    last: int
    token: str


async def next_number(records: Records, name: str, new_token: Callable[[], str]) -> int:
    """The next number of this counter, from 1. After a lost reply the number may stay unused."""
    for _ in range(ATTEMPTS_MAX):
        record = await records.get(KIND, name)
        last = msgspec.json.decode(record.value, type=_Counter).last if record else 0
        value = msgspec.json.encode(_Counter(last + 1, new_token()))
        if await records.put(KIND, name, value, record.version if record else 0):
            return last + 1
    raise Busy(f"The counter {name} changed {ATTEMPTS_MAX} times in a row")
