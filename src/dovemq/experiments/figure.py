"""Values that an experiment returns: data, panels to draw, verdicts on a paper's claims."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

if TYPE_CHECKING:
    from dovemq.models.simulation import SimulationRun

REPLICATIONS: Final = 20
REPLICATIONS_QUICK: Final = 4
Cell: TypeAlias = float | int | str | bool | None
Column: TypeAlias = Sequence[Cell]
Made = TypeVar("Made")
Tell: TypeAlias = Callable[[str], None]
"""Receives a line of progress from work that takes long."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line, or single points where `points`; `low` and `high` bound a band or error bars.

    Infinite values are not drawn: the model is unstable there. Curves of one `family` share a
    colour.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    points: bool = False
    dashed: bool = False
    family: str = ""


@dataclass(frozen=True, slots=True)
class PaperMark:
    """A number that the paper's text gives, drawn as a line across the panel at `x` or at `y`."""

    label: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """`x_names` are the names of categories at x = 1, 2, …; without them x is a number."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    marks: tuple[PaperMark, ...] = ()
    x_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a claim holds by its `threshold`; `found` gives the numbers.

    `holds` is None if the run was too short to tell: an interval crosses the threshold.
    """

    claim: str
    threshold: str
    holds: bool | None
    found: str


@dataclass(frozen=True, slots=True)
class Figure:
    """`data` are columns of equal length; infinite and unknown numbers become gaps in files.

    `readings` state how gaps in the paper were filled. `drawings` are pictures in SVG that are made
    elsewhere, by name.
    """

    title: str
    data: Mapping[str, Column]
    panels: tuple[Panel, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    readings: tuple[str, ...] = ()
    drawings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Effort:
    """The length of simulations: the papers' replications, or fewer for a quick look.

    `kept` has the runs that several figures are made of. Efforts that share it are equal otherwise.
    """

    replications: int = REPLICATIONS
    horizon_seconds: float = 100.0
    seed: int = 0
    workers: int = 1
    tell: Tell = lambda _: None
    kept: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The run with this key, which is made for the first figure that asks for it."""
        if key not in self.kept:
            self.kept[key] = make()
        made: Made = self.kept[key]
        return made

    def run(self, seed: int) -> "SimulationRun":
        """A simulation of this effort, with another seed."""
        from dovemq.models.simulation import SimulationRun

        return SimulationRun(
            self.horizon_seconds, replications=self.replications, seed=seed, workers=self.workers
        )

    @property
    def quick(self) -> bool:
        return self.replications < REPLICATIONS
