"""Options of the methods that simulate, and their progress; shared by the commands on models."""

import argparse
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dovemq.cli.command import CommandParser, WrongUse
from dovemq.cli.modelling import flags_of, real
from dovemq.cli.output import working
from dovemq.cli.values import count, number

if TYPE_CHECKING:
    from dovemq.models.estimates import Estimate
    from dovemq.models.simulation import SimulationRun

REPLICATIONS: Final = 20
_FLAGS: Final = ("horizon", "warm_up", "seed", "confidence", "precision", "replications_max")

T = TypeVar("T")
Report = Callable[[int], None]


class _Interruption(Exception):
    """Ends a simulation between two replications; nobody sees it."""


def add_simulation(parser: CommandParser) -> None:
    group = parser.group("simulation", "Options of the methods that simulate.")
    text = "runs; with --precision, runs between two looks at the precision"
    group.option("--replications", "N", text, count, REPLICATIONS)
    text = "length of a run after its warm-up, in the unit of the rates (default: for the load)"
    group.option("--horizon", "TIME", text, real)
    text = "time left out of every figure (default: found by pilot runs)"
    group.option("--warm-up", "TIME", text, real)
    group.option("--seed", "N", "random seed (default: 0)", number)
    text = "confidence of the intervals (default: 0.95)"
    group.option("--confidence", "P", text, real)
    text = "half width of the mean, as a share of it, at which no more runs are added"
    group.option("--precision", "SHARE", text, real)
    text = "most runs with --precision (default: 1000)"
    group.option("--replications-max", "N", text, count)


def check_simulation(
    args: argparse.Namespace, simulates: bool, remedy: str = "add --method kernel"
) -> None:
    """Refuses options of simulations where nothing is simulated, and a bound without its rule."""
    given = [name for name in _FLAGS if getattr(args, name) is not None]
    if given and not simulates:
        raise WrongUse(f"{flag(given[0])} is for the methods that simulate: {remedy}")
    if args.replications_max is not None and args.precision is None:
        raise WrongUse("--replications-max is for --precision")


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def run_of(args: argparse.Namespace, chosen: "SimulationRun") -> "SimulationRun":
    """Returns the run that was chosen for the load, with what the flags say instead."""
    return replace(chosen, **flags_of(args, _FLAGS))


def simulating(what: Callable[[], str], work: Callable[[Report], T]) -> T:
    """Runs `work` with a line about its progress; Ctrl-C ends it after the present replication."""
    stopped = threading.Event()
    done = 0

    def report(replications: int) -> None:
        nonlocal done
        done = replications
        if stopped.is_set():
            raise _Interruption

    return working(lambda: f"{what()}{done} replications", lambda: work(report), stopped.set)


def described(run: "SimulationRun", replications: int, warm_up: float) -> dict[str, Any]:
    """The run of a simulation as the report shows it."""
    return {
        "replications": replications,
        "horizon": run.horizon,
        "warm_up": warm_up,
        "confidence": run.confidence,
        "seed": run.seed,
    }


def spread(name: str, estimate: "Estimate", factor: float = 1.0) -> dict[str, float]:
    """A figure with its interval: `name`, `name_low` and `name_high`."""
    return {
        name: estimate.mean * factor,
        f"{name}_low": estimate.low * factor,
        f"{name}_high": estimate.high * factor,
    }
