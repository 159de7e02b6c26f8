"""The times of jobs that a target bounds: their mean, or a quantile of each type of job.

`JobTimes` follows joins: a job waits for its slowest branch. The mean is over all jobs; a quantile
is met if every type of job meets it. For networks of chains the mean is the work in progress over
the rate of jobs, which `progress.py` computes faster.
"""

from typing import Final

import numpy as np

from dovemq.models.analytic.completion import TimeMoments
from dovemq.models.analytic.network import mean_per_job, network_measures, service_times
from dovemq.models.analytic.percentiles import response_quantile
from dovemq.models.checks import Floats
from dovemq.models.jobs import JobNetwork
from dovemq.models.planning.problem import Problem

AT_ONCE: Final = 500
"""Allocations that are evaluated together."""


class JobTimes:
    """`time` is one figure of an allocation: the mean, or the longest quantile of the job types.

    `level` is None for the mean.
    """

    def __init__(self, problem: Problem, level: float | None = None) -> None:
        self._network = problem.network
        self._level = level
        self._arrive = np.array([job.arrival_rate > 0.0 for job in self._network.jobs])
        self._topics = len(self._network.topics)

    def floor(self) -> float:
        """The time of jobs that never wait."""
        return float(self._of(service_times(self._network)))

    def time(self, consumers: Floats) -> Floats:
        """Returns the time of allocations along the last axis."""
        rows = consumers.reshape(-1, self._topics)
        found = [
            self._of(network_measures(self._network, rows[first : first + AT_ONCE]).response)
            for first in range(0, len(rows), AT_ONCE)
        ]
        return np.concatenate(found).reshape(consumers.shape[:-1])

    def of_neighbours(self, consumers: Floats) -> Floats:
        """Returns the time with one more consumer at each topic in turn."""
        return self.time(consumers + np.eye(self._topics))

    def _of(self, found: TimeMoments) -> Floats:
        if self._level is None:
            return mean_per_job(self._network, found.mean)
        quantiles = response_quantile(found, self._level)
        longest: Floats = quantiles[..., self._arrive].max(axis=-1)
        return longest


def has_joins(network: JobNetwork) -> bool:
    """Says whether a job may have to wait for several branches."""
    for route in (route for job in network.jobs for route in job.routes):
        followed = {name for task in route.tasks for name in task.after}
        ends = sum(task.name not in followed for task in route.tasks)
        if ends > 1 or any(len(set(task.after)) > 1 for task in route.tasks):
            return True
    return False
