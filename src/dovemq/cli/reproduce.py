"""`dovemq reproduce …`: figures of the papers, with a verdict on each claim."""

import argparse
import ctypes
import tempfile
import threading
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command
from dovemq.cli.interruption import START_OVER
from dovemq.cli.output import print_records, print_result, working
from dovemq.cli.pipeline_options import pipeline_job
from dovemq.cli.values import count, number
from dovemq.system.clock import SystemClock

if TYPE_CHECKING:
    from dovemq.experiments.results import FigureResult
    from dovemq.experiments.running import Reproduction

_CALLS_BEFORE_EXCEPTION: Final = 5
"""Requests to end that work may leave unnoticed before its thread gets an exception."""
_VERDICTS: Final = """\
Every claim has a threshold. If an interval of 95 % crosses it, the verdict is 'too short to tell',
which is common with --quick. With --out, DIR/report.html shows all results in DIR as one page. A
figure that fails does not end the others. The exit code is 1 if a claim does not hold or a figure
failed, else 0; 'too short to tell' counts as neither. docs/how-to/reproduce-the-papers.md has the
times and what must be installed."""


def add(commands: Commands) -> None:
    summary = "reproduce figures of the papers: data, plots, and whether each claim holds"
    example = "dovemq reproduce list\n  dovemq reproduce elastic-fig4 --out ./figures"
    parser = add_command(commands, "reproduce", _run, summary, example)
    parser.description = f"{parser.description}.\n\n{_VERDICTS}"
    text = (
        "id of a figure, such as vma-fig11 or elastic-fig4; 'list' lists all, 'all' runs all, "
        "'report' runs none and writes DIR/report.html again"
    )
    parser.add_argument("ids", nargs="+", metavar="ID", help=text)
    text = "fewer replications and shorter runs; more verdicts are 'too short to tell'"
    parser.switch("--quick", text)
    parser.option("--out", "DIR", "directory for data, plots and verdicts", Path)
    parser.option("--seed", "N", "seed of the simulations", number, 0)
    parser.option("--workers", "N", "processes for the simulations", count, 1)


def _run(args: argparse.Namespace) -> int:
    # The context reports a missing extra and a signal; `advice` is printed after a signal.
    with pipeline_job("models") as job:
        from dovemq.experiments.catalogue import EXPERIMENTS

        if args.ids == ["list"]:
            return _list(args)
        if args.ids == ["report"]:
            return _report(args)
        ids = list(EXPERIMENTS) if args.ids == ["all"] else args.ids
        for name in ids:
            if name not in EXPERIMENTS:
                raise WrongUse(f"{name}: no such id; dovemq reproduce list shows them")
        _check_folder(args.out)
        attempts: list[Reproduction] = []
        kept: dict[Hashable, Any] = {}
        job.advice = lambda: f"{len(attempts)} of {len(ids)} are finished; {START_OVER}"
        for name in ids:
            attempts.append(_reproduced(args, name, kept))
    return _end(args, attempts)


def _end(args: argparse.Namespace, attempts: "list[Reproduction]") -> int:
    from dovemq.experiments.report import claims_text
    from dovemq.experiments.results import ClaimCounts

    results = [each.result for each in attempts]
    claims = sum((each.claims for each in results), ClaimCounts())
    figures = [
        {**to_builtins(each.result), "files": [str(path) for path in each.files]}
        for each in attempts
    ]
    document = {"figures": figures, "claims": to_builtins(claims)}
    failed = claims.do_not_hold or any(each.failed for each in results)
    return print_result(args, document, claims_text(results), FAILED if failed else OK)


def _report(args: argparse.Namespace) -> int:
    from dovemq.experiments.report import claims_text, write_report

    if args.out is None:
        raise WrongUse("name the directory that has the results: --out DIR")
    results = _results(args.out)
    if not results:
        raise WrongUse(f"--out {args.out}: no results are there; run dovemq reproduce ID first")
    path = write_report(args.out)
    document = {"report": str(path), "figures": [each.id for each in results]}
    return print_result(args, document, f"{claims_text(results)}\nwrote {path}")


def _check_folder(folder: Path | None) -> None:
    """Refuses a directory that cannot be written or has invalid results, before hours of work."""
    if folder is None:
        return
    _results(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WrongUse(f"--out {folder}: cannot be written: {error.strerror}") from None


def _results(folder: Path) -> "list[FigureResult]":
    from dovemq.experiments.results import ResultUnreadable, read_results

    try:
        return read_results(folder)
    except ResultUnreadable as error:
        raise WrongUse(str(error)) from None


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


def _reproduced(args: argparse.Namespace, name: str, kept: dict[Hashable, Any]) -> "Reproduction":
    from dovemq.experiments.catalogue import EXPERIMENTS
    from dovemq.experiments.figure import REPLICATIONS, REPLICATIONS_QUICK, Effort
    from dovemq.experiments.report import write_report
    from dovemq.experiments.running import attempt

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
        kept=kept,
    )

    def work() -> "Reproduction":
        ending.begin()
        return attempt(name, EXPERIMENTS[name], effort, SystemClock().now_ms, args.out)

    done = working(lambda: under_way, work, ending.leave)
    if args.out is not None:
        # After each figure, so that an interrupted run has its page, too.
        write_report(args.out)
    if not args.json:
        _print(done.result, done.files)
    return done


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


def _print(result: "FigureResult", files: Sequence[Path]) -> None:
    print(f"{result.id}: {result.title}")
    if result.failed:
        print(f"  failed: {result.failed}")
    for verdict in result.verdicts:
        print(f"  {verdict.verdict}: {verdict.claim}")
        print(f"      threshold: {verdict.threshold}")
        print(f"      found: {verdict.found}")
        if verdict.reason:
            print(f"      why: {verdict.reason}")
    for reading in result.readings:
        print(f"  reading: {reading}")
    for path in files:
        print(f"  wrote {path}")
