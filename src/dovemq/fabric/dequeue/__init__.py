"""How one receive searches the partitions of a queue: conventional, pms or rds (the paper rds).

    search = begin(wanted, settings, wait_ms, sleep_ms, now_ms)
    match next_step(search, view, settings, now_ms):
        case TryPartition(number, count_max): ...   # then view.after(…) and found_at(…)
        case Park(until_ms, on_arrival): ...        # then woken(search)
        case Finish(): ...                          # answer what was found

An access to a partition is a *hit* if it finds messages and a *miss* otherwise. All three
strategies try partitions until they have what was wanted, at most `fanout` of them in a row.
`costs` sums up what the accesses cost, and `tuning` finds the sleep of rds online.
"""

from dovemq.fabric.dequeue.costs import DequeueCounts as DequeueCounts
from dovemq.fabric.dequeue.costs import DequeueSummary as DequeueSummary
from dovemq.fabric.dequeue.costs import DequeueUnitCosts as DequeueUnitCosts
from dovemq.fabric.dequeue.costs import summarise as summarise
from dovemq.fabric.dequeue.search import DequeueSettings as DequeueSettings
from dovemq.fabric.dequeue.search import Finish as Finish
from dovemq.fabric.dequeue.search import Park as Park
from dovemq.fabric.dequeue.search import PartitionsView as PartitionsView
from dovemq.fabric.dequeue.search import Search as Search
from dovemq.fabric.dequeue.search import Step as Step
from dovemq.fabric.dequeue.search import TryPartition as TryPartition
from dovemq.fabric.dequeue.search import begin as begin
from dovemq.fabric.dequeue.search import found_at as found_at
from dovemq.fabric.dequeue.search import woken as woken
from dovemq.fabric.dequeue.strategies import STRATEGIES as STRATEGIES
from dovemq.fabric.dequeue.strategies import next_step as next_step
from dovemq.fabric.dequeue.tuning import SleepDecision as SleepDecision
from dovemq.fabric.dequeue.tuning import SleepMemory as SleepMemory
from dovemq.fabric.dequeue.tuning import SleepObservation as SleepObservation
from dovemq.fabric.dequeue.tuning import SleepSettings as SleepSettings
from dovemq.fabric.dequeue.tuning import tune_sleep as tune_sleep
