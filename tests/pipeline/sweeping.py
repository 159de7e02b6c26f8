"""A sweep for tests, and ways to run it."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pyarrow as pa

from dovemq.models.sweeping import Sweep, SweepFindings, read_sweep
from dovemq.pipeline.sweep.job import BatchSizer, SweepProgress, results, run_sweep, take_up
from dovemq.pipeline.sweep.ledger import opened_ledger
from dovemq.pipeline.sweep.replicating import Replicate, replicated

TEXT = """
model = "queue"
measures = ["sojourn_time", "sojourn_p95"]
[fixed]
service_rate = 1
[grid]
arrival_rate = [0.5, 0.8, 1.5]
consumers = [1, 2, 3]
[run]
horizon = 400
warm_up = 40
[replications]
min = 8
max = 40
batch = 8
half_width = 0.05
of = ["sojourn_time"]
"""
FILES = ("results.parquet", "results.csv", "replications.parquet")


def sweep_of(text: str = TEXT) -> Sweep:
    return read_sweep(tomllib.loads(text), lambda name: name)


def here(sweep: Sweep) -> Replicate:
    return lambda rows: pa.Table.from_batches([replicated(sweep, rows.to_pylist())])


def run_in(
    folder: Path,
    sweep: Sweep,
    replicate: Replicate,
    clock: Callable[[], float] = lambda: 0.0,
    standing: SweepProgress | None = None,
    stopping: Event | None = None,
) -> SweepFindings:
    """Publishes results only if the sweep was not stopped."""
    with opened_ledger(folder, sweep.identity()) as ledger:
        findings = take_up(sweep, ledger)
        run_sweep(
            findings, replicate, ledger, BatchSizer(clock), standing or SweepProgress(), stopping
        )
        if stopping is None or not stopping.is_set():
            ledger.publish(results(sweep, findings))
        return findings


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}
