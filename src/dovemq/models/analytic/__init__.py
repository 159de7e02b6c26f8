"""Closed forms of queueing theory: stations, networks, and the queue service of 000.

    from dovemq.models.analytic import mmc, Vma, vma

    mmc(30.3, 10, 4).sojourn_time                       # numbers or arrays of them
    vma(Vma(30.3, 10, 10, 5, 5, reliability=0.99)).delivery_time

Times are in the unit that the rates are per. What is not stable is infinite and marked so. Exact
where theory is; `ggm` and multi-class networks are approximations, and say by whom.
"""

from dovemq.models.analytic.approximate import APPROXIMATIONS, ggm
from dovemq.models.analytic.bulk import Bulk, Groups, arrival_rate_at, bulk, joined_by
from dovemq.models.analytic.finite import FiniteStation, mmck
from dovemq.models.analytic.headroom import (
    Headroom,
    servers_needed,
    station_headroom,
    vma_headroom,
)
from dovemq.models.analytic.jackson import JacksonNetwork, jackson
from dovemq.models.analytic.jobs import JobType, Network, Route, Task, Topic, chain
from dovemq.models.analytic.network import (
    NetworkMeasures,
    NetworkSensitivity,
    network_headroom,
    network_measures,
    network_sensitivity,
)
from dovemq.models.analytic.pollaczek import SingleServer, mg1, single_server, single_server_of
from dovemq.models.analytic.priority import priority_mg1, priority_mmc
from dovemq.models.analytic.sensitivity import (
    StationSensitivity,
    VmaSensitivity,
    station_sensitivity,
    vma_sensitivity,
)
from dovemq.models.analytic.station import MarkovStation, Station, mm1, mmc
from dovemq.models.analytic.vma import FAILURES, Vma, VmaMeasures, in_order_limit, vma
from dovemq.models.errors import (
    ModelError,
    NetworkInvalid,
    ParameterInvalid,
    TooLarge,
    Unstable,
)

__all__ = [
    "APPROXIMATIONS",
    "FAILURES",
    "Bulk",
    "FiniteStation",
    "Groups",
    "Headroom",
    "JacksonNetwork",
    "JobType",
    "MarkovStation",
    "ModelError",
    "Network",
    "NetworkInvalid",
    "NetworkMeasures",
    "NetworkSensitivity",
    "ParameterInvalid",
    "Route",
    "SingleServer",
    "Station",
    "StationSensitivity",
    "Task",
    "TooLarge",
    "Topic",
    "Unstable",
    "Vma",
    "VmaMeasures",
    "VmaSensitivity",
    "arrival_rate_at",
    "bulk",
    "chain",
    "ggm",
    "in_order_limit",
    "jackson",
    "joined_by",
    "mg1",
    "mm1",
    "mmc",
    "mmck",
    "network_headroom",
    "network_measures",
    "network_sensitivity",
    "priority_mg1",
    "priority_mmc",
    "servers_needed",
    "single_server",
    "single_server_of",
    "station_headroom",
    "station_sensitivity",
    "vma",
    "vma_headroom",
    "vma_sensitivity",
]
