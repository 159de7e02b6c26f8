"""Event simulation of queues: a tandem (`vma`), open networks of jobs, and queues over partitions.

    from dovemq.models.simulation import SimulationRun, simulate_tandem
    from dovemq.models.vma.parameters import VmaParameters

    parameters = VmaParameters(30.3, 10, 10, 5, 5, reliability=0.99)
    found = simulate_tandem(parameters, SimulationRun(horizon=1000, warm_up=100, replications=20))
    found.sojourn.mean, found.sojourn.half_width, found.quantile(0.99).mean

Times have the unit of the parameters. Invalid input is a `ModelError` that names it. Needs numba.
"""

from dovemq.models.simulation.histogram import TimeHistogram as TimeHistogram
from dovemq.models.simulation.joram.parameters import JoramParameters as JoramParameters
from dovemq.models.simulation.joram.replicated import ReplicatedQueue as ReplicatedQueue
from dovemq.models.simulation.network.result import NetworkResult as NetworkResult
from dovemq.models.simulation.network.result import simulate_network as simulate_network
from dovemq.models.simulation.rds.parameters import RdsParameters as RdsParameters
from dovemq.models.simulation.rds.result import RdsResult as RdsResult
from dovemq.models.simulation.rds.result import simulate_dequeues as simulate_dequeues
from dovemq.models.simulation.runs import SimulationRun as SimulationRun
from dovemq.models.simulation.vma.result import TandemResult as TandemResult
from dovemq.models.simulation.vma.result import simulate_tandem as simulate_tandem
