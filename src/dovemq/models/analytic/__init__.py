"""Closed forms of queueing theory: stations, networks of topics, and the queue service `vma`.

    from dovemq.models.analytic import mmc, vma
    from dovemq.models.vma.parameters import VmaParameters

    mmc(30.3, 10, 4).sojourn_time                       # numbers or arrays of them
    vma(VmaParameters(30.3, 10, 10, 5, 5, reliability=0.99)).delivery_time

Times have the unit of the rates. Figures of an unstable station are infinite, and `stable` is
false. `ggm` and networks of several classes are approximations, which name their authors; all other
forms are exact.
"""

from dovemq.models.analytic.approximate import ggm
from dovemq.models.analytic.bulk import GroupServices, arrival_rate_at, bulk, joined_by
from dovemq.models.analytic.finite import FiniteStation, mmck
from dovemq.models.analytic.headroom import Headroom, servers_needed, station_headroom, vma_headroom
from dovemq.models.analytic.jackson import jackson
from dovemq.models.analytic.network import (
    NetworkMeasures,
    network_headroom,
    network_measures,
    network_sensitivity,
)
from dovemq.models.analytic.pollaczek import mg1, single_server
from dovemq.models.analytic.priority import priority_mg1, priority_mmc
from dovemq.models.analytic.sensitivity import station_sensitivity, vma_sensitivity
from dovemq.models.analytic.station import mm1, mmc
from dovemq.models.analytic.vma import VmaMeasures, in_order_limit, vma

__all__ = [
    "FiniteStation",
    "GroupServices",
    "Headroom",
    "NetworkMeasures",
    "VmaMeasures",
    "arrival_rate_at",
    "bulk",
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
    "station_headroom",
    "station_sensitivity",
    "vma",
    "vma_headroom",
    "vma_sensitivity",
]
