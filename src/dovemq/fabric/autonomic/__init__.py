"""The controller of the paper joram: how many partitions a queue has, and which one a client gets.

    decision, memory = decide(observation, memory, settings)

A queue is observed as its partitions with their producers (N_i), consumers (M_i), capacity (C_i)
and messages. From these follow the shares x_i = N_i/N and y_i = M_i/M, the loads L_i =
(N_i+M_i)/C_i, and the load of the queue L = (N+M)/C, where C is the capacity of the partitions that
are not marked for removal.

    R1  x_i > y_i   the partition floods: messages may move away from it
    R2  x_i < y_i   the partition drains: messages may move to it
    R3  L_i > 1     the partition takes no new client while another has room
    R4  L_i < 1     the partition takes clients
    R5  L > 1       the queue grows; already from 1 on when a client joins
    R6  L < 1       the queue may shrink: a partition is marked, and is removed when it is empty

After each addition, removal or unmarking no partition is added or marked for the inhibition delay.
At most one partition is marked at a time, and it takes no new client. If the load returns, it is
unmarked before another one is added. A client stays at its partition, unless the queue migrates
sessions. Every decision has its reason in words and numbers.
"""

from dovemq.core.partitions import ControlMemory as ControlMemory
from dovemq.fabric.autonomic.capacity import CapacityEstimate as CapacityEstimate
from dovemq.fabric.autonomic.capacity import CapacitySample as CapacitySample
from dovemq.fabric.autonomic.capacity import CapacitySettings as CapacitySettings
from dovemq.fabric.autonomic.capacity import estimate_capacity as estimate_capacity
from dovemq.fabric.autonomic.capacity import typical_capacity as typical_capacity
from dovemq.fabric.autonomic.controller import ActionKind as ActionKind
from dovemq.fabric.autonomic.controller import ControlAction as ControlAction
from dovemq.fabric.autonomic.controller import ControlDecision as ControlDecision
from dovemq.fabric.autonomic.controller import ControlSettings as ControlSettings
from dovemq.fabric.autonomic.controller import decide as decide
from dovemq.fabric.autonomic.election import Election as Election
from dovemq.fabric.autonomic.election import elect as elect
from dovemq.fabric.autonomic.election import elect_again as elect_again
from dovemq.fabric.autonomic.exchange import SuggestedExchange as SuggestedExchange
from dovemq.fabric.autonomic.exchange import suggest_exchanges as suggest_exchanges
from dovemq.fabric.autonomic.explanation import explain as explain
from dovemq.fabric.autonomic.observation import ClientEvent as ClientEvent
from dovemq.fabric.autonomic.observation import ClientJoins as ClientJoins
from dovemq.fabric.autonomic.observation import ClientLeaves as ClientLeaves
from dovemq.fabric.autonomic.observation import ClientRole as ClientRole
from dovemq.fabric.autonomic.observation import PartitionLoad as PartitionLoad
from dovemq.fabric.autonomic.observation import QueueLoad as QueueLoad
from dovemq.fabric.autonomic.reasons import ControlReason as ControlReason
from dovemq.fabric.autonomic.standing import ClientBalance as ClientBalance
from dovemq.fabric.autonomic.standing import PartitionStanding as PartitionStanding
from dovemq.fabric.autonomic.standing import QueueStanding as QueueStanding
from dovemq.fabric.autonomic.standing import standing_of as standing_of
