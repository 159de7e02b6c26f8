"""Runs of a network: the pilots that find the warm-up, and the replications."""

from dovemq.models.simulation.estimates import Floats
from dovemq.models.simulation.network.kernel import advance
from dovemq.models.simulation.network.model import Network
from dovemq.models.simulation.network.result import NetworkResult, result_of
from dovemq.models.simulation.network.state import OF_STATION, OF_TYPE, Held, grown, held
from dovemq.models.simulation.runs import Progress, Run, Span, replicated, run_to_end, warm_up_of


def simulate_network(network: Network, run: Run, progress: Progress | None = None) -> NetworkResult:
    """Calls `progress` with the number of replications done, from this thread."""

    def one(replication: int, span: Span) -> Held:
        return run_to_end(held(network, span, run.seed, replication), advance, grown)

    def in_system(state: Held) -> Floats:
        first = len(OF_STATION) * len(network.stations)
        column: Floats = state.series[1:, first :: len(OF_TYPE)].sum(1)
        return column

    warm_up = warm_up_of(run, one, in_system)
    replications = replicated(run, warm_up, one, progress)
    return result_of(network, run, warm_up, replications)
