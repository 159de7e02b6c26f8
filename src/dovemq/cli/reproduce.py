"""`dovemq reproduce …`: figures of the papers, with a verdict on each claim."""

import argparse
import ctypes
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command
from dovemq.cli.interruption import START_OVER
from dovemq.cli.output import print_records, print_result, working
from dovemq.cli.pipeline_options import pipeline_job
from dovemq.cli.values import count, number

if TYPE_CHECKING:
    from dovemq.experiments.figure import Figure

_CALLS_BEFORE_EXCEPTION: Final = 5
"""Requests to end that work may leave unnoticed before its thread gets an exception."""
_VERDICTS: Final = """\
Every claim has a threshold. If an interval of 95 % crosses it, the verdict is 'too short to tell',
which is common with --quick. The exit code is 1 if a claim does not hold, else 0; 'too short to
tell' counts as neither. docs/reference/papers.md names the papers."""


def add(commands: Commands) -> None:
    summary = "reproduce figures of the papers: data, plots, and whether each claim holds"
    example = "dovemq reproduce list\n  dovemq reproduce elastic-fig4 --out ./figures"
    parser = add_command(commands, "reproduce", _run, summary, example)
    parser.description = f"{parser.description}.\n\n{_VERDICTS}"
    text = "id of a figure, such as vma-fig11 or elastic-fig4; 'list' lists all, 'all' runs all"
    parser.add_argument("ids", nargs="+", metavar="ID", help=text)
    text = "fewer replications and shorter runs; more verdicts are 'too short to tell'"
    parser.switch("--quick", text)
    parser.option("--out", "DIR", "directory for data, plots and verdicts", Path)
    parser.option("--seed", "N", "seed of the simulations", number, 0)
    parser.option("--workers", "N", "processes for the simulations", count, 1)


def _run(args: argparse.Namespace) -> int:
    # `loop` reads traces; the other figures need models alone.
    extra = "spark" if {"all", "loop"} & set(args.ids) else "models"
    # The context reports a missing extra and a signal; `advice` is printed after a signal.
    with pipeline_job(extra) as job:
        from dovemq.experiments.catalogue import EXPERIMENTS

        if args.ids == ["list"]:
            return _list(args)
        ids = list(EXPERIMENTS) if args.ids == ["all"] else args.ids
        for name in ids:
            if name not in EXPERIMENTS:
                raise WrongUse(f"{name}: no such id; dovemq reproduce list shows them")
        _check_writable(args.out)
        reports: list[dict[str, Any]] = []
        job.advice = lambda: f"{len(reports)} of {len(ids)} are finished; {START_OVER}"
        for name in ids:
            reports.append(_reproduced(args, name))
    claims = {key: sum(each["claims"][key] for each in reports) for key in reports[0]["claims"]}
    document = {"figures": reports, "claims": claims}
    return print_result(args, document, _summary(claims), FAILED if claims["do_not_hold"] else OK)


def _check_writable(folder: Path | None) -> None:
    """Refuses a directory that cannot be written, before hours of work."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WrongUse(f"--out {folder}: cannot be written: {error.strerror}") from None


def _summary(claims: dict[str, int]) -> str:
    if not any(claims.values()):
        return "there are no claims to check"
    text = f"{claims['hold']} of {sum(claims.values())} claims hold"
    if missed := claims["do_not_hold"]:
        text += f", {missed} {'does' if missed == 1 else 'do'} not hold"
    if short := claims["too_short_to_tell"]:
        text += f", the run was too short to tell for {short}"
    return text


def _list(args: argparse.Namespace) -> int:
    from dovemq.experiments.catalogue import CITATIONS, EXPERIMENTS

    rows = [
        {"id": name, "paper": CITATIONS.get(name.partition("-")[0], "-"), "title": each.title}
        for name, each in EXPERIMENTS.items()
    ]

    def show() -> None:
        print_records(rows, {name: name for name in ("id", "paper", "title")})
        print("titles and addresses of the papers: docs/reference/papers.md")

    return print_result(args, rows, show)


def _reproduced(args: argparse.Namespace, name: str) -> dict[str, Any]:
    from dovemq.experiments.catalogue import EXPERIMENTS
    from dovemq.experiments.figure import REPLICATIONS, REPLICATIONS_QUICK, Effort
    from dovemq.experiments.publishing import publish, summary

    under_way, ending = f"{name} is under way", _ThreadEnding()

    def tell(text: str) -> None:
        nonlocal under_way
        ending.check()
        under_way = f"{name}: {text}"

    effort = Effort(
        replications=REPLICATIONS_QUICK if args.quick else REPLICATIONS,
        seed=args.seed,
        workers=args.workers,
        tell=tell,
    )

    def work() -> "tuple[Figure, list[Path]]":
        ending.begin()
        figure = EXPERIMENTS[name].run(effort)
        return figure, [] if args.out is None else publish(name, figure, args.out)

    figure, files = working(lambda: under_way, work, ending.leave)
    if not args.json:
        _print(name, figure, files)
    return {**summary(name, figure), "files": [str(path) for path in files]}


class _ThreadEnding:
    """Ends work in a thread, which no signal reaches and which may never check a flag."""

    def __init__(self) -> None:
        self._thread = 0
        self._asked = 0

    def begin(self) -> None:
        self._thread = threading.get_ident()

    def check(self) -> None:
        if self._asked:
            raise KeyboardInterrupt

    def leave(self) -> None:
        """Called until the work has ended; the fifth call raises an exception in its thread."""
        self._asked += 1
        if self._asked == _CALLS_BEFORE_EXCEPTION:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread), ctypes.py_object(KeyboardInterrupt)
            )


def _print(name: str, figure: "Figure", files: list[Path]) -> None:
    from dovemq.experiments.publishing import VERDICT_WORDS

    print(f"{name}: {figure.title}")
    for verdict in figure.verdicts:
        print(f"  {VERDICT_WORDS[verdict.holds]}: {verdict.claim}")
        print(f"      threshold: {verdict.threshold}")
        print(f"      found: {verdict.found}")
    for reading in figure.readings:
        print(f"  reading: {reading}")
    for path in files:
        print(f"  wrote {path}")
