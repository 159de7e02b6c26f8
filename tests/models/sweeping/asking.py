"""Sweeps as text, and how a test runs one without Spark."""

import tomllib
from pathlib import Path

from dovemq.models.sweeping import Sweep, SweepFindings, read_sweep

QUEUE = """
model = "queue"
measures = ["sojourn_time", "waiting_time", "waiting", "number", "utilisation", "throughput",
            "sojourn_p95"]
[fixed]
service_rate = 1
[grid]
arrival_rate = [0.5, 0.8]
consumers = "1:3"
[run]
horizon = 500
warm_up = 50
seed = 4
[replications]
min = 3
"""
VMA = """
model = "vma"
measures = ["delivery_time", "waiting", "gets", "delivery_p95"]
[fixed]
arrival_rate = 30.3
service_rate = 10
threads = 5
[grid]
reliability = [1.0, 0.9]
order = ["out", "in"]
[run]
horizon = 20
[replications]
min = 3
"""


def sweep_of(text: str, folder: Path | None = None, *changes: tuple[str, str]) -> Sweep:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_sweep(tomllib.loads(text), lambda name: ((folder or Path()) / name).read_text())


def run_here(sweep: Sweep) -> SweepFindings:
    findings = SweepFindings(sweep)
    while asked := findings.asked():
        for configuration, replication in asked:
            values = sweep.trial(configuration).replicate(sweep.seed_of(configuration), replication)
            findings.add(configuration, replication, values)
    return findings
