"""Queues by event simulation: the tandem of 000, and open networks with jobs as graphs (002).

    from dovemq.models.simulation import Exponential, Run, Tandem, simulate_tandem

    tandem = Tandem(Exponential(1 / 30.3), Exponential(0.1), Exponential(0.1), 5, 5, 0.99)
    found = simulate_tandem(tandem, Run(horizon=1000, warm_up=100, replications=20))
    found.sojourn.mean, found.sojourn.half_width, found.quantile(0.99).mean

Time has the unit of the parameters. Wrong input is a ValueError that names its place. Needs numba.
"""

from dovemq.models.simulation.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    by_moments,
)
from dovemq.models.simulation.estimates import Estimate, difference
from dovemq.models.simulation.histogram import Histogram
from dovemq.models.simulation.network.model import (
    JobType,
    Network,
    Path,
    Station,
    Task,
    in_sequence,
)
from dovemq.models.simulation.network.result import NetworkResult, StationResult
from dovemq.models.simulation.network.simulating import simulate_network
from dovemq.models.simulation.runs import Run
from dovemq.models.simulation.vma.model import MessageClass, Tandem
from dovemq.models.simulation.vma.result import TandemResult
from dovemq.models.simulation.vma.simulating import simulate_tandem

__all__ = [
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Estimate",
    "Exponential",
    "Gamma",
    "Histogram",
    "HyperExponential",
    "JobType",
    "MessageClass",
    "Network",
    "NetworkResult",
    "Path",
    "Run",
    "Station",
    "StationResult",
    "Tandem",
    "TandemResult",
    "Task",
    "by_moments",
    "difference",
    "in_sequence",
    "simulate_network",
    "simulate_tandem",
]
