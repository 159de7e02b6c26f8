"""What an experiment gives back: tables of data, panels to draw, verdicts on the paper's claims."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from dovemq.models.simulation import SimulationRun

REPLICATIONS: Final = 20
REPLICATIONS_QUICK: Final = 4
Column: TypeAlias = Sequence[float | int | str | bool | None]
Tell: TypeAlias = Callable[[str], None]
"""Told what is under way, by work that takes long."""


def tell_nobody(text: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Curve:
    """Drawn as a line, or as points where `points`; `low` and `high` bound a band.

    Infinite values are left out of the drawing: there the model is unstable.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    points: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that is made elsewhere, such as a page of a net."""

    name: str
    svg: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`holds` is None where this run cannot tell; `found` says what came out, in numbers."""

    claim: str
    holds: bool | None
    found: str


@dataclass(frozen=True, slots=True)
class Figure:
    """`data` are columns of equal length. `readings` say what the paper left open."""

    title: str
    data: Mapping[str, Column]
    panels: tuple[Panel, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    readings: tuple[str, ...] = ()
    drawings: tuple[Drawing, ...] = ()


@dataclass(frozen=True, slots=True)
class Effort:
    """How long simulations run: the papers' replications, or fewer for a quick look."""

    replications: int = REPLICATIONS
    horizon_seconds: float = 100.0
    seed: int = 0
    workers: int = 1
    tell: Tell = tell_nobody

    def run(self, seed: int) -> "SimulationRun":
        """A simulation of this effort, with another seed."""
        from dovemq.models.simulation import SimulationRun

        return SimulationRun(
            self.horizon_seconds, replications=self.replications, seed=seed, workers=self.workers
        )

    @property
    def quick(self) -> bool:
        return self.replications < REPLICATIONS
