"""`dovemq cpn …`: checks, runs, explores and draws coloured Petri nets from files."""

import argparse
import contextlib
import importlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dovemq.cli.command import (
    FAILED,
    OK,
    CommandParser,
    Commands,
    Run,
    WrongUse,
    add_command,
    add_group,
)
from dovemq.cli.cpn_reports import invariants, listed, print_report, report_document, space_facts
from dovemq.cli.modelling import modelling, toml_value
from dovemq.cli.output import pair_lines, print_pairs, print_result, working
from dovemq.cli.values import count, existing_file, number, output_file, pair
from dovemq.core.errors import DoveError

if TYPE_CHECKING:
    from dovemq.models.petri import CheckedNet, Monitor, Net


_SEED: Final = "seed of the random numbers"


class RunFailed(DoveError):
    """A net failed while it ran, or an analysis reached its limit; the text names the place."""


def add(commands: Commands) -> None:
    summary = "check, run, explore and draw coloured Petri nets"
    example = "dovemq cpn simulate net.json --until 1000 --replications 20"
    actions = add_group(commands, "cpn", summary, example)
    _add_net(actions, "check", _check, "check colours, variables, guards and arcs of a net", "")
    _add_simulate(actions)
    _add_statespace(actions)
    _add_draw(actions)


def _add_net(actions: Commands, name: str, run: Run, summary: str, more: str) -> CommandParser:
    parser = add_command(actions, name, run, summary, f"dovemq cpn {name} net.json{more}")
    text = "path of the net file: .json, or .pnml for a P/T net or a symmetric net"
    parser.add_argument("net", type=existing_file, metavar="NET", help=text)
    parser.repeated("--set", "NAME=VALUE", "new value of a constant of the net", pair)
    parser.option("--net-id", "ID", "id or name of the net of a PNML file that holds several")
    return parser


def _add_simulate(actions: Commands) -> None:
    summary = "run a net and report the figures of its monitors"
    parser = _add_net(actions, "simulate", _simulate, summary, " --until 100")
    add = parser.option
    add("--until", "T", "model time at which a run ends", float)
    add("--steps", "N", "firings after which a run ends", count)
    add("--warmup", "T", "model time at the start that is not measured", float, 0.0)
    add("--replications", "N", "number of runs", count, 1)
    add("--seed", "N", _SEED, number, 0)
    add("--confidence", "P", "confidence of the intervals", float, 0.95)
    text = "value to collect at each firing, from the binding and now"
    parser.repeated("--collect", "TRANSITION=EXPR", text, pair)
    text = "value of the marking to average over time, e.g. \"size('Queue')\""
    parser.repeated("--level", "EXPR", text)
    add("--stop", "EXPR", "condition that ends a run")
    add("--player", "FILE", "path of an HTML page that replays the first firings", output_file)
    add("--player-steps", "N", "number of firings in the HTML page", count, 500)


def _add_statespace(actions: Commands) -> None:
    summary = "explore the markings that a net can reach"
    parser = _add_net(actions, "statespace", _statespace, summary, "")
    text = "number of markings at which the search stops"
    parser.option("--markings-max", "N", text, count, 1_000_000)
    text = "number of tokens of one place at which the search stops"
    parser.option("--tokens-max", "N", text, count, 10_000)
    parser.switch("--invariants", "add place and transition invariants")


def _add_draw(actions: Commands) -> None:
    parser = _add_net(actions, "draw", _draw, "draw each page of a net as SVG", " --out drawings")
    parser.option("--out", "DIR", "directory of the drawings", Path, ".")
    parser.option("--page", "NAME", "name of the only page to draw")
    parser.option("--after", "N", "number of firings before the drawing", number, 0)
    parser.option("--seed", "N", _SEED, number, 0)


@contextlib.contextmanager
def _command_errors() -> Iterator[None]:
    from dovemq.models.petri import NetFailed, NetTooLarge

    try:
        yield
    except (NetFailed, NetTooLarge) as error:
        raise RunFailed(str(error)) from error
    except ValueError as error:
        raise WrongUse(str(error)) from error


def _read(args: argparse.Namespace) -> "Net":
    from dovemq.models.petri import read_net, read_pnml

    text = args.net.read_text(encoding="utf-8")
    if args.net.suffix == ".pnml":
        net = read_pnml(text, args.net.name, args.net_id or "")
    elif args.net_id:
        raise WrongUse("--net-id is for PNML files; a JSON file holds one net")
    else:
        net = read_net(text, args.net.name)
    return net.with_constants(**{name: toml_value(text) for name, text in args.set})


def _check(args: argparse.Namespace) -> int:
    from dovemq.models.petri import NetError, checked

    try:
        net = checked(_read(args))
    except NetError as error:
        document = {"net": args.net.name, "valid": False, "problem": str(error)}
        return print_result(args, document, str(error), FAILED)
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
    pairs = [(key, value) for key, value in found.items() if key != "valid"]
    return print_result(args, found, "\n".join(pair_lines(pairs)))


def _simulate(args: argparse.Namespace) -> int:
    from dovemq.models.petri import Laboratory, checked, player_html, record

    if args.until is None and args.steps is None and args.stop is None:
        raise WrongUse("a run needs an end: --until, --steps or --stop")
    if args.replications > 1:
        with modelling():
            importlib.import_module("scipy.special")
    with _command_errors():
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
    return print_result(args, report_document(report), lambda: print_report(report))


def _monitors(net: "CheckedNet", args: argparse.Namespace) -> "list[Monitor]":
    """Monitors of every transition and place, and those that the command line adds."""
    from dovemq.models.petri import Breakpoint, Collector, Count, MarkingSize, TimeAverage

    made: list[Monitor] = [Count(f"count {each.name}", each.name) for each in net.transitions]
    made += [MarkingSize(f"size {place.name}", place.name) for place in net.places]
    made += [Collector(f"{name}: {text}", name, text) for name, text in args.collect]
    made += [TimeAverage(text, text) for text in args.level]
    return [*made, *([Breakpoint("stop", args.stop)] if args.stop else [])]


def _statespace(args: argparse.Namespace) -> int:
    from dovemq.models.petri import Limits, checked, state_space

    seen, stopping = 0, threading.Event()

    def progress(found: int, expanded: int) -> bool:
        nonlocal seen
        seen = found
        return not stopping.is_set()

    with _command_errors():
        net = checked(_read(args))
        limits = Limits(args.markings_max, args.tokens_max)
        space = working(
            lambda: f"{seen} markings",
            lambda: state_space(net, limits, progress),
            stopping.set,
        )
        found = space_facts(space)
        if args.invariants:
            found |= invariants(net)
    pairs = ((key.replace("_", " "), listed(value)) for key, value in found.items())
    code = OK if space.complete else FAILED
    return print_result(args, found, lambda: print_pairs(pairs), code)


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
    written = []
    for name, svg in drawn.items():
        path = args.out / f"{name}.svg"
        path.write_text(svg, encoding="utf-8")
        written.append(str(path))
    return print_result(args, {"net": net.name, "files": written}, "\n".join(written))
