"""Variability of the flows in a network, by parametric decomposition (`elastic`, appendix A).

Per visit v of a class at topic j, with share s = λ_v/λ̃_j of what arrives there:

    merge           λ̃_j = Σ λ_v,  ca_j² = Σ s·ca_v²                             (eq. 3, 4)
    follow through  cd_j² = 1 + (1 − ρ_j²)(ca_j² − 1) + ρ_j²(cs_j² − 1)/√m_j     (eq. 5)
    split           cd_v² = s·cd_j² + (1 − s)(s + (1 − s)·ca_v²)                 (eq. 6)

All of it is linear in the scvs, and only eq. 5 contains the numbers of consumers. So the visits are
eliminated once: ca² = E + G·cd² with the same E and G for every allocation, and an allocation costs
one linear system of the size of the topics. Cycles of topics need no iteration.

Readings. Eq. 4 prints λ̃_i for λ̃_j. ρ is cut at 1, since an overloaded topic sends on what its
consumers finish. Tasks that follow one task see its stream each. A task that joins several sees
the mean of their scvs. A route that is taken with probability w has scv w·c² + 1 − w.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dovemq.models.arrivals import Batches, ModulatedPoisson, RateSteps
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.jobs import JobNetwork, JobRoute, in_order
from dovemq.models.topic_rules import PLAIN


@dataclass(frozen=True, slots=True)
class Flows:
    """Arrays along topics. `outside` is E and `coupling` is G."""

    rates: Floats
    outside: Floats
    coupling: Floats
    service_rates: Floats
    service_scvs: Floats

    def arrival_scvs(self, consumers: Floats, factor: Floats | float = 1.0) -> Floats:
        """Solves for allocations along the last axis; `factor` multiplies every arrival rate."""
        constant, slope = self.departures(consumers, factor)
        matrix = np.eye(len(self.rates)) - self.coupling * slope[..., None, :]
        right = self.outside + constant @ self.coupling.T
        solved = np.linalg.solve(matrix, right[..., None])
        return np.asarray(solved[..., 0], dtype=np.float64)

    def departures(self, consumers: Floats, factor: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Returns eq. 5 as cd² = constant + slope·ca²."""
        busy = np.minimum(factor * self.rates / (self.service_rates * consumers), 1.0) ** 2
        return busy * (1.0 + (self.service_scvs - 1.0) / np.sqrt(consumers)), 1.0 - busy


def flows(network: JobNetwork) -> Flows:
    _check_plain(network)
    rates = topic_rates(network)
    count = len(rates)
    outside, coupling = np.zeros(count), np.zeros((count, count))
    for rate, scv, route in _streams(network):
        for topic, share, own, of_topics in _visits(network, route, rate, scv, rates):
            outside[topic] += share * own
            coupling[topic] += share * of_topics
    # Nothing arrives at an idle topic, so any scv is valid; 1 is harmless.
    outside[rates == 0.0] = 1.0
    return Flows(
        rates=rates,
        outside=outside,
        coupling=coupling,
        service_rates=np.array([topic.service_rate for topic in network.topics], dtype=float),
        service_scvs=np.array([topic.service_scv for topic in network.topics], dtype=float),
    )


def _check_plain(network: JobNetwork) -> None:
    """Refuses what the decomposition cannot express and only a simulation knows."""
    for topic in network.topics:
        if topic.rules != PLAIN:
            raise ModelSpecInvalid(f"topic {topic.name}", "rules of its own need a simulation")
    for job in network.jobs:
        if isinstance(job.arrival, RateSteps | ModulatedPoisson | Batches):
            found = "arrivals that vary in time or come in batches need a simulation"
            raise ModelSpecInvalid(f"job {job.name}", found)
        for task in (task for route in job.routes for task in route.tasks):
            if task.service is not None or task.priority:
                place = f"job {job.name}, task {task.name}"
                raise ModelSpecInvalid(
                    place, "a service time or priority of its own needs a simulation"
                )


def topic_rates(network: JobNetwork) -> Floats:
    places = network.places
    rates = np.zeros(len(places))
    for rate, _, route in _streams(network):
        for task in route.tasks:
            rates[places[task.topic]] += rate
    return rates


def _streams(network: JobNetwork) -> Iterator[tuple[float, float, JobRoute]]:
    for job in network.jobs:
        for route in job.routes:
            thinned = route.share * job.arrival_scv + 1.0 - route.share
            yield job.arrival_rate * route.share, thinned, route


def _visits(
    network: JobNetwork, route: JobRoute, rate: float, scv: float, rates: Floats
) -> Iterator[tuple[int, float, float, Floats]]:
    """Yields for each visit its topic, its share there, and its ca² by a constant and each cd²."""
    places = network.places
    departed: dict[str, tuple[float, Floats]] = {}
    for task in in_order(route.tasks):
        topic = places[task.topic]
        if task.after:
            own = sum(departed[name][0] for name in task.after) / len(task.after)
            of_topics = np.mean([departed[name][1] for name in task.after], axis=0)
        else:
            own, of_topics = scv, np.zeros(len(rates))
        share = rate / rates[topic] if rates[topic] > 0.0 else 0.0
        yield topic, share, own, of_topics
        others = 1.0 - share
        leaving = others**2 * of_topics
        leaving[topic] += share
        departed[task.name] = (others * share + others**2 * own, leaving)
