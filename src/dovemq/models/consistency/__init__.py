"""Consistency of a queue: loss, duplication and order of the delivered messages (`bdqs`, §V.A).

    from dovemq.models.consistency import ConsistencyTally

    tally = ConsistencyTally()
    tally.sent(streams, send_seqs)                  # numpy or Arrow columns, batch by batch
    tally.received(streams, send_seqs, intact)      # in the order of receiving
    tally.result().out_of_order_rate

`metrics.py` defines the figures. All of them are exact, for one batch or for many.
"""

from dovemq.models.consistency.metrics import METRICS, Consistency
from dovemq.models.consistency.order import KeptOrder, OrderTally, clean_cuts
from dovemq.models.consistency.sequences import LOWEST_SEQ
from dovemq.models.consistency.tally import ConsistencyTally, measure, order_of, ranks

__all__ = [
    "LOWEST_SEQ",
    "METRICS",
    "Consistency",
    "ConsistencyTally",
    "KeptOrder",
    "OrderTally",
    "clean_cuts",
    "measure",
    "order_of",
    "ranks",
]
