"""The parts that the partitions of one journal share."""

import asyncio
import itertools
from typing import Any

from msgspec import Struct

from dovemq.core.observing import Observer
from dovemq.stores.owned.bodies import Bodies, MessageReader
from dovemq.stores.owned.committing import GroupCommit
from dovemq.stores.owned.statistics import Statistics


class OwnerContext(Struct, frozen=True):
    """The embedded store has one for all its partitions; a log of groups has one for each."""

    loop: asyncio.AbstractEventLoop
    commits: GroupCommit[Any]
    reader: MessageReader
    bodies: Bodies
    sequences: "itertools.count[int]"
    statistics: Statistics
    observer: Observer
