"""Closed forms of queueing theory: stations, networks of topics, and the queue service `vma`.

    from dovemq.models.analytic import mmc, vma
    from dovemq.models.vma.parameters import VmaParameters

    mmc(30.3, 10, 4).sojourn_time                       # numbers or arrays of them
    vma(VmaParameters(30.3, 10, 10, 5, 5, reliability=0.99)).delivery_time

Times have the unit of the rates. Figures of an unstable station are infinite, and `stable` is
false. `ggm`, `schweitzer`, `with_returns` and networks of topics are approximations, which name
their authors; all other forms are exact.
"""

from dovemq.models.analytic.abandonment import ImpatientStation as ImpatientStation
from dovemq.models.analytic.abandonment import with_returns as with_returns
from dovemq.models.analytic.approximate import ggm as ggm
from dovemq.models.analytic.bounds import wait_bounds as wait_bounds
from dovemq.models.analytic.bulk import GroupServices as GroupServices
from dovemq.models.analytic.bulk import arrival_rate_at as arrival_rate_at
from dovemq.models.analytic.bulk import bulk as bulk
from dovemq.models.analytic.bulk import joined_by as joined_by
from dovemq.models.analytic.circulation import ClosedMeasures as ClosedMeasures
from dovemq.models.analytic.convolution import convolution as convolution
from dovemq.models.analytic.delivery import delivery_quantile as delivery_quantile
from dovemq.models.analytic.finite import FiniteStation as FiniteStation
from dovemq.models.analytic.finite import mmck as mmck
from dovemq.models.analytic.headroom import Headroom as Headroom
from dovemq.models.analytic.headroom import station_headroom as station_headroom
from dovemq.models.analytic.headroom import vma_headroom as vma_headroom
from dovemq.models.analytic.mva import mva as mva
from dovemq.models.analytic.network import NetworkMeasures as NetworkMeasures
from dovemq.models.analytic.network import network_headroom as network_headroom
from dovemq.models.analytic.network import network_measures as network_measures
from dovemq.models.analytic.network import network_sensitivity as network_sensitivity
from dovemq.models.analytic.open import OpenNetwork as OpenNetwork
from dovemq.models.analytic.open import OpenStation as OpenStation
from dovemq.models.analytic.open import solve_open as solve_open
from dovemq.models.analytic.pollaczek import mg1 as mg1
from dovemq.models.analytic.pollaczek import single_server as single_server
from dovemq.models.analytic.priority import preemptive_mg1 as preemptive_mg1
from dovemq.models.analytic.priority import preemptive_mmc as preemptive_mmc
from dovemq.models.analytic.priority import priority_mg1 as priority_mg1
from dovemq.models.analytic.priority import priority_mmc as priority_mmc
from dovemq.models.analytic.retrials import retrial as retrial
from dovemq.models.analytic.schweitzer import schweitzer as schweitzer
from dovemq.models.analytic.sensitivity import station_sensitivity as station_sensitivity
from dovemq.models.analytic.sensitivity import vma_sensitivity as vma_sensitivity
from dovemq.models.analytic.sharing import SharedStation as SharedStation
from dovemq.models.analytic.sharing import shared as shared
from dovemq.models.analytic.station import mm1 as mm1
from dovemq.models.analytic.station import mmc as mmc
from dovemq.models.analytic.varying import varying_speed as varying_speed
from dovemq.models.analytic.vma import VmaMeasures as VmaMeasures
from dovemq.models.analytic.vma import in_order_limit as in_order_limit
from dovemq.models.analytic.vma import vma as vma
