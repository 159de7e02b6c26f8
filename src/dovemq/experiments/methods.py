"""The ways to answer for a scenario, by name."""

from collections.abc import Mapping
from typing import Final

from dovemq.experiments.scenario import Method, by_formula

METHODS: Final[Mapping[str, Method]] = {"analytic": by_formula}
