"""Results of figures as documents: what `ID.json` has, and how a directory of them is read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import DoveError
from dovemq.experiments import catalogue
from dovemq.experiments.figure import Figure, Panel, Verdict
from dovemq.experiments.provenance import Provenance
from dovemq.experiments.reasons import reason_of

VERDICT_WORDS: Final = {True: "holds", False: "does not hold", None: "too short to tell"}
PAPER_TEXT: Final = "paper's text: "
"""The beginning of labels of marks and curves whose values the paper's text gives."""


class ResultUnreadable(DoveError):
    """A file that should have the result of a figure has something else."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is not a result of `dovemq reproduce`: {why}. Make it again.")


class VerdictResult(Struct, frozen=True):
    """`reason` says why a claim does not hold; it is empty otherwise."""

    claim: str
    threshold: str
    holds: bool | None
    verdict: str
    found: str
    reason: str


class ClaimCounts(Struct, frozen=True):
    hold: int = 0
    do_not_hold: int = 0
    too_short_to_tell: int = 0

    def __add__(self, other: "ClaimCounts") -> "ClaimCounts":
        return ClaimCounts(
            self.hold + other.hold,
            self.do_not_hold + other.do_not_hold,
            self.too_short_to_tell + other.too_short_to_tell,
        )


class PanelResult(Struct, frozen=True):
    """`paper_points` are the values on the panel that the paper's text gives."""

    title: str
    x_label: str
    y_label: str
    paper_points: tuple[str, ...]


class FigureResult(Struct, frozen=True):
    """The result of one figure. `failed` says why there is none; `files` are names beside it."""

    id: str
    title: str
    rows: int = 0
    claims: ClaimCounts = ClaimCounts()
    verdicts: tuple[VerdictResult, ...] = ()
    readings: tuple[str, ...] = ()
    panels: tuple[PanelResult, ...] = ()
    run: Provenance | None = None
    failed: str = ""
    files: tuple[str, ...] = ()


def result_of(
    name: str, figure: Figure, run: Provenance | None = None, files: Sequence[str] = ()
) -> FigureResult:
    holds = [verdict.holds for verdict in figure.verdicts]
    return FigureResult(
        id=name,
        title=figure.title,
        rows=len(next(iter(figure.data.values()), ())),
        claims=ClaimCounts(holds.count(True), holds.count(False), holds.count(None)),
        verdicts=tuple(_verdict(name, each) for each in figure.verdicts),
        readings=figure.readings,
        panels=tuple(_panels(figure)),
        run=run,
        files=tuple(files),
    )


def _verdict(name: str, verdict: Verdict) -> VerdictResult:
    reason = reason_of(name, verdict.claim) if verdict.holds is False else ""
    return VerdictResult(
        verdict.claim,
        verdict.threshold,
        verdict.holds,
        VERDICT_WORDS[verdict.holds],
        verdict.found,
        reason,
    )


def _panels(figure: Figure) -> list[PanelResult]:
    return [
        PanelResult(
            panel.title,
            panel.x_label,
            panel.y_label,
            tuple(_paper_points(panel)),
        )
        for panel in figure.panels
    ]


def _paper_points(panel: Panel) -> Iterator[str]:
    labels = [*(mark.label for mark in panel.marks), *(curve.label for curve in panel.curves)]
    return (label.removeprefix(PAPER_TEXT) for label in labels if label.startswith(PAPER_TEXT))


def write_result(result: FigureResult, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.id}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result)) + b"\n")
    return path


def read_results(folder: Path) -> list[FigureResult]:
    """The results of all known ids that a directory has, in the order of the catalogue."""
    paths = [folder / f"{name}.json" for name in catalogue.EXPERIMENTS]
    return [_read(path) for path in paths if path.is_file()]


def _read(path: Path) -> FigureResult:
    try:
        result = msgspec.json.decode(path.read_bytes(), type=FigureResult)
    except (OSError, msgspec.DecodeError) as error:
        raise ResultUnreadable(path, str(error)) from None
    if result.id != path.stem:
        raise ResultUnreadable(path, f"its id is {result.id!r}")
    return result
