"""Runs of the tandem: the pilots that find the warm-up, and the replications."""

from dovemq.models.simulation.estimates import Floats
from dovemq.models.simulation.runs import Progress, Run, Span, replicated, run_to_end, warm_up_of
from dovemq.models.simulation.vma.kernel import advance
from dovemq.models.simulation.vma.model import Tandem
from dovemq.models.simulation.vma.result import TandemResult, result_of
from dovemq.models.simulation.vma.state import AREAS, Held, grown, held


def simulate_tandem(tandem: Tandem, run: Run, progress: Progress | None = None) -> TandemResult:
    """Calls `progress` with the number of replications done, from this thread."""

    def one(replication: int, span: Span) -> Held:
        return run_to_end(held(tandem, span, run.seed, replication), advance, grown)

    def in_system(state: Held) -> Floats:
        column: Floats = state.series[1:, AREAS.index("in_system")]
        return column

    warm_up = warm_up_of(run, one, in_system)
    return result_of(tandem, run, warm_up, replicated(run, warm_up, one, progress))
