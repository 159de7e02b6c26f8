"""A sweep as a command runs it: over Spark, with a bar, taken up again after a crash."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.modelling import real
from dovemq.cli.output import working
from dovemq.cli.pipelining import spark_plan

if TYPE_CHECKING:
    from dovemq.models.sweeping import Findings, Sweep
    from dovemq.pipeline.sweep.job import Standing
    from dovemq.pipeline.sweep.ledger import Ledger

_BAR_CHARACTERS: Final = 30


def add_keeping(parser: argparse._ActionsContainer, default: str) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=f"results, and what is done while it runs; named again, it goes on ({default})",
    )
    parser.add_argument(
        "--keep-seconds",
        type=real,
        default=10.0,
        metavar="S",
        help="how often finished replications are kept in it (default: %(default)g)",
    )


def swept(args: argparse.Namespace, sweep: "Sweep", folder: Path) -> "tuple[Findings, list[Path]]":
    """The figures and the files that hold them. Spark is started only if something is left."""
    from dovemq.pipeline.sweep.job import take_up
    from dovemq.pipeline.sweep.ledger import opened_ledger
    from dovemq.pipeline.sweep.table import results

    with opened_ledger(folder, sweep.identity()) as ledger:
        findings = take_up(sweep, ledger)
        if findings.asked():
            _run_on_spark(args, sweep, findings, ledger)
        return findings, ledger.publish(results(sweep, findings))


def _run_on_spark(
    args: argparse.Namespace, sweep: "Sweep", findings: "Findings", ledger: "Ledger"
) -> None:
    from dovemq.pipeline.session import spark_session
    from dovemq.pipeline.sweep.job import Pace, Standing, run_sweep
    from dovemq.pipeline.sweep.replicating import on_spark

    standing = Standing()
    sessions: list[Any] = []

    def work() -> None:
        with spark_session(spark_plan(args)) as session:
            sessions.append(session)
            try:
                pace = Pace(time.monotonic, args.keep_seconds)
                run_sweep(findings, on_spark(session, sweep), ledger, pace, standing)
            finally:
                sessions.clear()

    def stop() -> None:
        for session in sessions:
            session.sparkContext.cancelAllJobs()

    working(lambda: _text(standing, sessions), work, stop)


def _text(standing: "Standing", sessions: list[Any]) -> str:
    from dovemq.pipeline.sweep.replicating import share_done

    if not sessions or not standing.known:
        return "Spark is starting"
    done = standing.done + int(standing.under_way * share_done(sessions[0]))
    filled = _BAR_CHARACTERS * done // standing.known
    bar = "#" * filled + "-" * (_BAR_CHARACTERS - filled)
    return f"[{bar}] {done:,} of {standing.known:,} replications"
