"""The work in progress of allocations; the flows are computed for each allocation.

One more consumer at a topic changes one column of the linear system of `analytic.flows`, so the
work in progress of all such neighbours comes from one solution by a rank-one correction.
"""

from typing import Final

import numpy as np

from dovemq.models.analytic.approximate import variability
from dovemq.models.analytic.erlang import c_of_b, erlang_b_rows
from dovemq.models.analytic.flows import flows
from dovemq.models.checks import Floats
from dovemq.models.planning.problem import Problem
from dovemq.models.stability import is_stable, servers_from

_ROWS_FIRST: Final = 32


class WorkInProgress:
    """Weighted work in progress Σ ν_j L_j; infinite where a topic is unstable.

    `loads` are λ_j/μ_j, `job_rate` is that of all jobs, `floor` what is in progress when nobody
    waits.
    """

    def __init__(self, problem: Problem) -> None:
        self._flows = flows(problem.network)
        self._weights = problem.weights
        self.loads: Floats = self._flows.rates / self._flows.service_rates
        self.job_rate = problem.network.job_rate
        self.floor = float(self._weights @ self.loads)
        self._waiting = self._rows(_ROWS_FIRST)

    @property
    def stable_from(self) -> Floats:
        """The smallest stable number of consumers of each topic."""
        return servers_from(self.loads)

    def wip(self, consumers: Floats) -> Floats:
        """Returns the work in progress of allocations along the last axis."""
        queued = self._queued(consumers)
        if consumers.ndim == 1 and np.isinf(queued).any():
            return np.asarray(np.inf)
        scvs = self._flows.arrival_scvs(consumers)
        factors = variability(scvs, self._flows.service_scvs)
        return self._total(factors, queued)

    def wip_of_neighbours(self, consumers: Floats) -> Floats:
        """Returns it for one more consumer at each topic in turn; the allocation must be stable."""
        found = self._flows
        constant, slope = found.departures(consumers)
        inverse = np.linalg.inv(np.eye(len(constant)) - found.coupling * slope)
        scvs = inverse @ (found.outside + found.coupling @ constant)
        spread = inverse @ found.coupling
        next_constant, next_slope = found.departures(consumers + 1.0)
        own = np.diagonal(spread)
        by_constant, by_slope = next_constant - constant, next_slope - slope
        changed = (scvs + own * by_constant) / (1.0 - own * by_slope)
        moved = scvs + spread.T * (by_constant + by_slope * changed)[:, None]
        factors = variability(moved, found.service_scvs)
        queued = self._queued(consumers)
        shorter = (self._queued(consumers + 1.0) - queued) * np.diagonal(factors)
        return self.floor + factors @ (self._weights * queued) + self._weights * shorter

    def _total(self, factors: Floats, queued: Floats) -> Floats:
        # An idle topic has no queue for any factor; an overloaded one has an infinite queue.
        waiting = np.where(queued > 0.0, np.where(np.isinf(queued), 1.0, factors) * queued, 0.0)
        total: Floats = (self.loads + waiting) @ self._weights
        return total

    def _queued(self, consumers: Floats) -> Floats:
        """Returns Lq of M/M/m for the load of each topic."""
        most = int(consumers.max())
        if most >= len(self._waiting):
            self._waiting = self._rows(2 * most)
        return self._waiting[consumers.astype(np.int64), np.arange(consumers.shape[-1])]

    def _rows(self, most: int) -> Floats:
        servers = np.arange(most + 1, dtype=np.float64)[:, None]
        waits = c_of_b(erlang_b_rows(self.loads, most), self.loads, servers)
        stable = is_stable(self.loads, servers)
        spare = np.where(stable, servers - self.loads, 1.0)
        return np.where(stable, waits * self.loads / spare, np.inf)
