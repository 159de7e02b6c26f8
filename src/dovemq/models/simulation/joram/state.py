"""The state of the simulated queue: plain arrays that the kernel changes.

A client is in a pause, waits for its partition's server or is served, waits for a message (only
consumers), or has left. A mover is a client that carries messages of an exchange: it is served at
its source, then at its target. Clients that wait are linked lists over the rows.
"""

from typing import Final, NamedTuple

import numpy as np

from dovemq.models.checks import Floats
from dovemq.models.simulation.compiled import codes
from dovemq.models.simulation.joram.parameters import JoramParameters
from dovemq.models.simulation.replication import NONE
from dovemq.models.simulation.sampling import Rows, Shapes, row_type
from dovemq.models.simulation.streams import Words, seeded

CLIENTS_MAX: Final = 4_096
PARTITIONS_MAX: Final = 256
PRODUCER, CONSUMER, MOVER = codes(0, 3)
GONE, PAUSING, QUEUED, SERVED, EMPTY_HANDED = codes(0, 5)

_STATE = row_type(
    f8="now send_time receive_time producer_pause consumer_pause slowdown move_time",
    i8="clients partitions",
)
_CLIENT = row_type(f8="since starved", i8="role partition target left stage link done leaving")
_PARTITION = row_type(
    f8="busy", i8="serving head tail empty_head empty_tail waiting produced consumed moved"
)


class JoramArrays(NamedTuple):
    """Everything that the kernel reads and writes.

    `wakes` are the ends of pauses by client; `ends` are the ends of services by partition.
    """

    state: Rows
    clients: Rows
    partitions: Rows
    wakes: Floats
    ends: Floats
    values: Floats
    words: Words


def joram_arrays(parameters: JoramParameters, seed: int, replication: int) -> JoramArrays:
    state = np.zeros(1, _STATE)
    for name in (_STATE.names or ())[1:-2]:
        state[name] = getattr(parameters, name)
    partitions = np.zeros(PARTITIONS_MAX, _PARTITION)
    for name in ("serving", "head", "tail", "empty_head", "empty_tail"):
        partitions[name] = NONE
    return JoramArrays(
        state=state,
        clients=np.zeros(CLIENTS_MAX, _CLIENT),
        partitions=partitions,
        wakes=np.full(CLIENTS_MAX, np.inf),
        ends=np.full(PARTITIONS_MAX, np.inf),
        values=Shapes().tables()[1],
        words=seeded(seed, [(replication, 0)]),
    )
