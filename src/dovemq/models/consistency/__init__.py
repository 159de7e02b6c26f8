"""Consistency of a queue: loss, duplication and order of the delivered messages (`bdqs`, §V.A).

    from dovemq.models.consistency import ConsistencyTally

    tally = ConsistencyTally()
    tally.sent(streams, send_seqs)                  # numpy or Arrow columns, batch by batch
    tally.received(streams, send_seqs, intact)      # in the order of receiving
    tally.result().out_of_order_rate

`metrics.py` defines the figures. All of them are exact, for one batch or for many.
"""

from dovemq.models.consistency.metrics import METRICS as METRICS
from dovemq.models.consistency.metrics import Consistency as Consistency
from dovemq.models.consistency.order import KeptOrder as KeptOrder
from dovemq.models.consistency.order import OrderTally as OrderTally
from dovemq.models.consistency.order import clean_cuts as clean_cuts
from dovemq.models.consistency.sequences import LOWEST_SEQ as LOWEST_SEQ
from dovemq.models.consistency.tally import ConsistencyTally as ConsistencyTally
from dovemq.models.consistency.tally import measure as measure
from dovemq.models.consistency.tally import order_of as order_of
from dovemq.models.consistency.tally import ranks as ranks
