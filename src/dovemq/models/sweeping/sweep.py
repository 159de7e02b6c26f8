"""A sweep: its configurations, the measures of each, and their seeds."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

import dovemq.models
from dovemq.models.errors import ModelError, ModelSpecInvalid
from dovemq.models.simulation.compiled import code_digest
from dovemq.models.sweeping.kernels import prepare_network, prepare_queue, prepare_vma
from dovemq.models.sweeping.nets import prepare_cpn
from dovemq.models.sweeping.stopping import Stopping
from dovemq.models.sweeping.trials import Prepare, Question, Trial, Value

MODELS: Final[Mapping[str, Prepare]] = {
    "queue": prepare_queue,
    "vma": prepare_vma,
    "network": prepare_network,
    "cpn": prepare_cpn,
}
CONFIGURATIONS_MAX: Final = 100_000
TOLD: Final = ("configuration", "seed", "stable", "replications", "content")
"""Columns of the results beside the axes of the grid and the measures."""
_MODELS_FOLDER: Final = Path(dovemq.models.__file__).parent


@dataclass(frozen=True, slots=True)
class Sweep:
    """`points` are the values along `axes`, one for each configuration; `fixed` holds for all.

    Each configuration has its own seed, or all have `common` random numbers, which makes their
    differences more precise. Unstable configurations, whose figures grow with the
    horizon, run only if `unstable` is set.
    """

    model: str
    axes: tuple[str, ...]
    points: tuple[tuple[Value, ...], ...]
    question: Question
    stopping: Stopping
    fixed: Mapping[str, Value] = field(default_factory=dict)
    seed: int = 0
    common: bool = False
    unstable: bool = False
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ModelSpecInvalid("model", f"{self.model!r} is none of {', '.join(MODELS)}")
        if not 1 <= len(self.points) <= CONFIGURATIONS_MAX:
            found = f"{len(self.points)} configurations"
            raise ModelSpecInvalid("grid", f"{found}: 1 to {CONFIGURATIONS_MAX:,} are needed")
        if taken := sorted({*TOLD, *self.question.measures}.intersection(self.axes)):
            raise ModelSpecInvalid("grid", f"{taken[0]} is the name of a column of the results")

    def values(self, configuration: int) -> dict[str, Value]:
        """Returns the values of the parameters."""
        return {**self.fixed, **dict(zip(self.axes, self.points[configuration], strict=True))}

    def seed_of(self, configuration: int) -> int:
        """Returns the seed with which `simulate_…` gives the same replications."""
        if self.common:
            return self.seed
        root = np.random.SeedSequence(self.seed, spawn_key=(configuration,))
        return int(root.generate_state(1, np.uint64)[0] >> np.uint64(1))

    def trial(self, configuration: int) -> Trial:
        values = self.values(configuration)
        try:
            return MODELS[self.model](values, self.question)
        except ModelError as error:
            raise ModelSpecInvalid(self.named(configuration), str(error)) from error

    def identity(self) -> dict[str, Any]:
        """Everything that the results depend on, as JSON values."""
        own = asdict(self)
        parts = {**own.pop("question"), **own.pop("stopping")}
        return {"code of the models": code_digest(_MODELS_FOLDER), **own, **parts}

    def named(self, configuration: int) -> str:
        point = zip(self.axes, self.points[configuration], strict=True)
        values = ", ".join(f"{name} = {value}" for name, value in point)
        return f"configuration {configuration}" + (f" ({values})" if values else "")
