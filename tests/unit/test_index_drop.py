"""A deep backlog is removed in pieces, and no piece looks at the messages that stay."""

import random
import sys

from dovemq.core.index import index_for
from dovemq.core.queue import QueueSettings
from tests.unit.watched import Watched

COUNT = 20_000
PIECE = 200
LOOKS_EACH_MAX = 12


def test_no_piece_of_a_drop_looks_at_all_that_is_left() -> None:
    index = index_for(QueueSettings(), random.Random(1))
    for number in range(COUNT):
        index.add(Watched(number + 1, number, number))
    pieces = []
    while True:
        Watched.looks.clear()
        if not index.drop(sys.maxsize, PIECE):
            break
        pieces.append(Watched.looks["receive_count"])
    assert len(pieces) == COUNT // PIECE
    assert max(pieces) <= LOOKS_EACH_MAX * PIECE
