"""`dovemq cpn …`: checks, runs, explores and draws coloured Petri nets from files."""

import argparse
import contextlib
import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dovemq.cli.command import (
    FAILED,
    OK,
    Commands,
    WrongUse,
    add_command,
    add_group,
    count,
    existing_file,
    number,
    output_file,
    pair,
)
from dovemq.cli.cpn_reports import invariants, listed, print_report, space_facts
from dovemq.cli.modelling import modelling
from dovemq.cli.output import pair_lines, print_result, working
from dovemq.core.errors import DoveError

if TYPE_CHECKING:
    from dovemq.models.petri import CheckedNet, Monitor, Net


SEED: Final = "seed of the random numbers (default: %(default)s)"


class RunFailed(DoveError):
    """A net failed while it ran, or an analysis reached its limit; the text names the place."""


def add(commands: Commands) -> None:
    parser = add_group(
        commands,
        "cpn",
        "check, run, explore and draw coloured Petri nets",
        "dovemq cpn simulate net.json --until 1000 --replications 20",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    _add_check(actions)
    _add_simulate(actions)
    _add_statespace(actions)
    _add_draw(actions)


def _option(
    parser: argparse.ArgumentParser,
    flag: str,
    kind: Callable[[str], object],
    metavar: str,
    summary: str,
    default: object = None,
) -> None:
    """Adds an option with a value; a list as its default lets it be repeated."""
    repeated = isinstance(default, list)
    parser.add_argument(
        flag,
        type=kind,
        metavar=metavar,
        default=default,
        action="append" if repeated else "store",
        help=f"{summary}; may be repeated" if repeated else summary,
    )


def _add_net(
    actions: Commands, name: str, run: Callable[[argparse.Namespace], int], summary: str, more: str
) -> argparse.ArgumentParser:
    parser = add_command(actions, name, run, summary, f"dovemq cpn {name} net.json{more}")
    parser.add_argument(
        "net",
        type=existing_file,
        metavar="NET",
        help="path of the net file: .json, or .pnml for a P/T net",
    )
    _option(parser, "--set", pair, "NAME=VALUE", "new value of a constant of the net", [])
    return parser


def _add_check(actions: Commands) -> None:
    _add_net(actions, "check", _check, "check colours, variables, guards and arcs of a net", "")


def _add_simulate(actions: Commands) -> None:
    summary = "run a net and report the figures of its monitors"
    parser = _add_net(actions, "simulate", _simulate, summary, " --until 100")
    _option(parser, "--until", float, "T", "model time at which a run ends")
    _option(parser, "--steps", count, "N", "firings after which a run ends")
    _option(parser, "--warmup", float, "T", "model time at the start that is not measured", 0.0)
    _option(parser, "--replications", count, "N", "number of runs (default: %(default)s)", 1)
    _option(parser, "--seed", number, "N", SEED, 0)
    confidence = "confidence of the intervals (default: %(default)s)"
    _option(parser, "--confidence", float, "P", confidence, 0.95)
    collect = "value to collect at each firing, from the binding and now"
    _option(parser, "--collect", pair, "TRANSITION=EXPR", collect, [])
    level = "value of the marking to average over time, e.g. \"size('Queue')\""
    _option(parser, "--level", str, "EXPR", level, [])
    _option(parser, "--stop", str, "EXPR", "condition that ends a run")
    player = "path of an HTML page that replays the first firings"
    _option(parser, "--player", output_file, "FILE", player)
    steps = "number of firings in the HTML page (default: %(default)s)"
    _option(parser, "--player-steps", count, "N", steps, 500)


def _add_statespace(actions: Commands) -> None:
    summary = "explore the markings that a net can reach"
    parser = _add_net(actions, "statespace", _statespace, summary, "")
    markings = "number of markings at which the search stops (default: %(default)s)"
    _option(parser, "--markings-max", count, "N", markings, 1_000_000)
    tokens = "number of tokens of one place at which the search stops (default: %(default)s)"
    _option(parser, "--tokens-max", count, "N", tokens, 10_000)
    parser.add_argument(
        "--invariants", action="store_true", help="add place and transition invariants"
    )


def _add_draw(actions: Commands) -> None:
    parser = _add_net(actions, "draw", _draw, "draw each page of a net as SVG", " --out drawings")
    _option(parser, "--out", Path, "DIR", "directory of the drawings", Path())
    _option(parser, "--page", str, "NAME", "name of the only page to draw")
    _option(parser, "--after", number, "N", "number of firings before the drawing", 0)
    _option(parser, "--seed", number, "N", SEED, 0)


@contextlib.contextmanager
def _command_errors() -> Iterator[None]:
    from dovemq.models.petri import NetFailed, NetTooLarge

    with modelling():
        try:
            yield
        except (NetFailed, NetTooLarge) as error:
            raise RunFailed(str(error)) from error
        except ValueError as error:
            raise WrongUse(str(error)) from error


def _read(args: argparse.Namespace) -> "Net":
    from dovemq.models.petri import read_net, read_pnml

    text = args.net.read_text(encoding="utf-8")
    net = (read_pnml if args.net.suffix == ".pnml" else read_net)(text, args.net.name)
    return net.with_constants(**{name: _value(text) for name, text in args.set})


def _value(text: str) -> int | float | bool | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _check(args: argparse.Namespace) -> int:
    from dovemq.models.petri import NetError, checked

    try:
        net = checked(_read(args))
    except NetError as error:
        problem = {"net": args.net.name, "valid": False, "problem": str(error)}
        print_result(args, problem, str(error))
        return FAILED
    found = {
        "net": net.name,
        "valid": True,
        "kind": "P/T" if net.is_pt else "coloured",
        "timed": any(place.colour.timed for place in net.places),
        "pages": len(net.net.pages),
        "places": len(net.places),
        "transitions": len(net.transitions),
        "colours": len(net.net.colours),
    }
    lines = pair_lines((key, value) for key, value in found.items() if key != "valid")
    return print_result(args, found, "\n".join(lines))


def _simulate(args: argparse.Namespace) -> int:
    from dovemq.models.petri import Laboratory, checked, player_html, record

    if args.until is None and args.steps is None and args.stop is None:
        raise WrongUse("a run needs an end: --until, --steps or --stop")
    with _command_errors():
        if args.replications > 1:
            importlib.import_module("scipy.special")
        net = checked(_read(args))
        laboratory = Laboratory(net, _monitors(net, args))
        done = [0]
        report = working(
            lambda: f"{done[0]} of {args.replications} replications",
            lambda: laboratory.replicate(
                args.replications,
                until=float("inf") if args.until is None else args.until,
                steps=args.steps,
                warmup=args.warmup,
                seed=args.seed,
                confidence=args.confidence,
                progress=lambda finished: done.__setitem__(0, finished),
            ),
            laboratory.stop,
        )
        if args.player is not None:
            recording = record(net, steps=args.player_steps, seed=f"{args.seed}/0")
            args.player.write_text(player_html(recording), encoding="utf-8")
    print_report(report, as_json=args.json)
    return OK


def _monitors(net: "CheckedNet", args: argparse.Namespace) -> "list[Monitor]":
    """Monitors of every transition and place, and those that the command line adds."""
    from dovemq.models.petri import Breakpoint, Collector, Count, MarkingSize, TimeAverage

    made: list[Monitor] = [Count(f"count {each.name}", each.name) for each in net.transitions]
    made += [MarkingSize(f"size {place.name}", place.name) for place in net.places]
    made += [Collector(f"{name}: {text}", name, text) for name, text in args.collect]
    made += [TimeAverage(text, text) for text in args.level]
    return [*made, *([Breakpoint("stop", args.stop)] if args.stop else [])]


class _Search:
    """Progress of a search, and whether it shall go on."""

    def __init__(self) -> None:
        self.found = 0
        self._wanted = True

    def progress(self, found: int, expanded: int) -> bool:
        self.found = found
        return self._wanted

    def stop(self) -> None:
        self._wanted = False


def _statespace(args: argparse.Namespace) -> int:
    from dovemq.models.petri import Limits, checked, state_space

    with _command_errors():
        importlib.import_module("scipy.sparse.csgraph")
        net = checked(_read(args))
        search = _Search()
        limits = Limits(args.markings_max, args.tokens_max)
        space = working(
            lambda: f"{search.found} markings",
            lambda: state_space(net, limits, search.progress),
            search.stop,
        )
        found = space_facts(space)
        if args.invariants:
            found |= invariants(net)
    lines = pair_lines((key.replace("_", " "), listed(value)) for key, value in found.items())
    print_result(args, found, "\n".join(lines))
    return OK if space.complete else FAILED


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUse(f"{str(path)!r} cannot be made a directory: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise WrongUse(f"{str(path)!r} is not writable")


def _draw(args: argparse.Namespace) -> int:
    from dovemq.models.petri import Simulation, checked, hierarchy_svg, page_svg

    with _command_errors():
        net = checked(_read(args))
        _make_directory(args.out)
        simulation = Simulation(net, seed=args.seed)
        if args.after:
            simulation.run(steps=args.after)
        drawn = {
            page: page_svg(net, page, markings=simulation.markings())
            for page in ([args.page] if args.page else net.net.pages)
        }
        if not args.page and len(net.net.pages) > 1:
            drawn["hierarchy"] = hierarchy_svg(net.net)
    for name, svg in drawn.items():
        (args.out / f"{name}.svg").write_text(svg, encoding="utf-8")
    written = [str(args.out / f"{name}.svg") for name in drawn]
    return print_result(args, {"net": net.name, "files": written}, "\n".join(written))
