"""`dovemq reproduce …`: figures and tables of the papers, with a verdict on each claim."""

import argparse
import ctypes
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import OK, Commands, WrongUse, add_command, count, number
from dovemq.cli.ending import START_OVER
from dovemq.cli.output import print_json, print_table, working
from dovemq.cli.pipeline_options import pipeline_job

if TYPE_CHECKING:
    from dovemq.experiments.figure import Figure


_ASKED_IN_VAIN: Final = 5


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "reproduce",
        _run,
        "reproduce figures and tables of the papers: data, plots, and whether each claim holds",
        "dovemq reproduce list\ndovemq reproduce 002-fig4 --out ./figures",
    )
    parser.add_argument(
        "ids", nargs="+", metavar="ID", help="such as 002-fig4, or all; list shows them"
    )
    parser.add_argument("--quick", action="store_true", help="fewer replications and runs")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write data, plots and verdicts")
    parser.add_argument("--seed", type=number, default=0, help="default: %(default)s")
    parser.add_argument(
        "--workers", type=count, default=1, help="of simulations (default: %(default)s)"
    )


def _run(args: argparse.Namespace) -> int:
    # It reads traces; the other figures are made of models alone.
    extra = "spark" if {"all", "loop"} & set(args.ids) else "models"
    with pipeline_job(extra) as ending:
        from dovemq.experiments.catalogue import EXPERIMENTS

        if args.ids == ["list"]:
            return _list(args)
        ids = list(EXPERIMENTS) if args.ids == ["all"] else args.ids
        for name in ids:
            if name not in EXPERIMENTS:
                raise WrongUse(f"{name}: no such id; dovemq reproduce list shows them")
        reports: list[dict[str, Any]] = []
        ending.advice = lambda: f"{len(reports)} of {len(ids)} are finished; {START_OVER}"
        for name in ids:
            reports.append(_reproduced(args, name))
    if args.json:
        print_json(reports)
    return OK


def _list(args: argparse.Namespace) -> int:
    from dovemq.experiments.catalogue import EXPERIMENTS

    if args.json:
        print_json([{"id": name, "title": each.title} for name, each in EXPERIMENTS.items()])
    else:
        print_table(("id", "title"), [(name, each.title) for name, each in EXPERIMENTS.items()])
    return OK


def _reproduced(args: argparse.Namespace, name: str) -> dict[str, Any]:
    from dovemq.experiments.catalogue import EXPERIMENTS
    from dovemq.experiments.figure import REPLICATIONS, REPLICATIONS_QUICK, Effort
    from dovemq.experiments.publishing import publish, summary

    under_way, work_of = f"{name} is under way", _InThread()

    def tell(text: str) -> None:
        nonlocal under_way
        work_of.check()
        under_way = f"{name}: {text}"

    effort = Effort(
        replications=REPLICATIONS_QUICK if args.quick else REPLICATIONS,
        seed=args.seed,
        workers=args.workers,
        tell=tell,
    )

    def work() -> "tuple[Figure, list[Path]]":
        work_of.begin()
        figure = EXPERIMENTS[name].run(effort)
        return figure, [] if args.out is None else publish(name, figure, args.out)

    figure, files = working(lambda: under_way, work, work_of.leave)
    if not args.json:
        _print(name, figure, files)
    return {**summary(name, figure), "files": [str(path) for path in files]}


class _InThread:
    """Work in a thread of its own, where no signal arrives, and which may look at no flag."""

    def __init__(self) -> None:
        self._thread = 0
        self._asked = 0

    def begin(self) -> None:
        self._thread = threading.get_ident()

    def check(self) -> None:
        if self._asked:
            raise KeyboardInterrupt

    def leave(self) -> None:
        """To be called until the work has ended; at last an exception ends its next step."""
        self._asked += 1
        if self._asked == _ASKED_IN_VAIN:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread), ctypes.py_object(KeyboardInterrupt)
            )


def _print(name: str, figure: "Figure", files: list[Path]) -> None:
    from dovemq.experiments.publishing import VERDICT_WORDS

    print(f"{name}: {figure.title}")
    for verdict in figure.verdicts:
        print(f"  {VERDICT_WORDS[verdict.holds]}: {verdict.claim}")
        print(f"      {verdict.found}")
    for reading in figure.readings:
        print(f"  reading: {reading}")
    for path in files:
        print(f"  wrote {path}")
