"""Runs a sweep for a command: over Spark, with a progress bar, continued after a crash."""

import argparse
import shlex
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import Options
from dovemq.cli.interruption import START_OVER, Interruption
from dovemq.cli.modelling import real
from dovemq.cli.output import working
from dovemq.cli.pipeline_options import local_directory, spark_plan

if TYPE_CHECKING:
    from dovemq.models.sweeping import Sweep, SweepFindings
    from dovemq.pipeline.sweep.job import SweepProgress
    from dovemq.pipeline.sweep.ledger import SweepLedger

_BAR_CHARACTERS: Final = 30


def add_keeping(parser: Options, default: str) -> None:
    text = f"directory of the results; a sweep that was stopped continues from it ({default})"
    parser.option("--out", "DIR", text, local_directory)
    text = "seconds between two writes of finished replications"
    parser.option("--keep-seconds", "S", text, real, 10.0)


def swept(
    args: argparse.Namespace,
    sweep: "Sweep",
    folder: Path,
    ending: Interruption,
    *,
    kept: bool = True,
) -> "tuple[SweepFindings, list[Path]]":
    """Returns the figures and their files. Spark starts only if replications are left to run."""
    from dovemq.pipeline.sweep.job import SweepProgress, results, take_up
    from dovemq.pipeline.sweep.ledger import opened_ledger

    with opened_ledger(folder, sweep.identity()) as ledger:
        findings = take_up(sweep, ledger)
        if asked := findings.asked():
            standing = SweepProgress(findings.done, findings.done + len(asked))
            ending.advice = lambda: _how_to_go_on(standing, folder if kept else None)
            _run_on_spark(args, sweep, findings, ledger, standing)
        return findings, ledger.publish(results(sweep, findings))


def _how_to_go_on(standing: "SweepProgress", folder: Path | None) -> str:
    if folder is None:
        return f"nothing is kept without --out DIR; {START_OVER}"
    return (
        f"run the same command again with --out {shlex.quote(str(folder))} to go on; "
        f"{standing.done:,} of {standing.known:,} replications are kept"
    )


def _run_on_spark(
    args: argparse.Namespace,
    sweep: "Sweep",
    findings: "SweepFindings",
    ledger: "SweepLedger",
    standing: "SweepProgress",
) -> None:
    from dovemq.pipeline.session import spark_session
    from dovemq.pipeline.sweep.job import BatchSizer, run_sweep
    from dovemq.pipeline.sweep.replicating import on_spark

    sessions: list[Any] = []
    stopping = threading.Event()

    def work() -> None:
        with spark_session(spark_plan(args)) as session:
            sessions.append(session)
            try:
                pace = BatchSizer(time.monotonic, args.keep_seconds)
                run_sweep(findings, on_spark(session, sweep), ledger, pace, standing, stopping)
            finally:
                sessions.clear()

    working(lambda: _text(standing, sessions), work, stopping.set)


def _text(standing: "SweepProgress", sessions: list[Any]) -> str:
    from dovemq.pipeline.sweep.replicating import share_done

    if not sessions:
        return "Spark is starting"
    done = standing.done + int(standing.under_way * share_done(sessions[0]))
    filled = _BAR_CHARACTERS * done // standing.known
    bar = "#" * filled + "-" * (_BAR_CHARACTERS - filled)
    return f"[{bar}] {done:,} of {standing.known:,} replications"
