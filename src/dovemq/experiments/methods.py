"""The ways to answer for a scenario, by name."""

from collections.abc import Mapping
from typing import Final

from dovemq.experiments.net_runs import by_petri_net
from dovemq.experiments.scenario import Method, by_formula
from dovemq.experiments.simulated import by_kernel

METHODS: Final[Mapping[str, Method]] = {
    "analytic": by_formula,
    "kernel": by_kernel,
    "petri": by_petri_net,
}
