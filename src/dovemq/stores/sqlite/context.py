"""The parts of an embedded store that all its partitions share."""

import asyncio
import itertools

from msgspec import Struct

from dovemq.core.observing import Observer
from dovemq.stores.sqlite.bodies import Bodies
from dovemq.stores.sqlite.reader import BodyReader, Reader
from dovemq.stores.sqlite.statements import Statements
from dovemq.stores.sqlite.statistics import Statistics
from dovemq.stores.sqlite.writer import Writer


class StoreContext(Struct, frozen=True):
    loop: asyncio.AbstractEventLoop
    writer: Writer
    reader: Reader
    bodies: Bodies
    body_reader: BodyReader
    sql: Statements
    sequences: "itertools.count[int]"
    statistics: Statistics
    observer: Observer
