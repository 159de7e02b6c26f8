"""A short soak of embedded servers: all faults in turn while messages and jobs flow.

`python -m bench.soak` runs it for half an hour, and on Cassandra; memory and time are judged there
alone.
"""

import asyncio
import os
from pathlib import Path

import pytest

from bench.soak.__main__ import run_soak
from bench.soak.report import verdicts
from bench.soak.running import SoakAccount, SoakLength

SECONDS = float(os.environ.get("DOVETEST_SOAK", "22"))
LENGTH = SoakLength(SECONDS, turn_s=1.5, quiet_s=0.5, pause_ms=200, job_rate=1.0)
FAULTS_MIN = 10
SECONDS_MAX = 900


@pytest.mark.timeout(SECONDS + SECONDS_MAX)
def test_soak_loses_nothing_and_every_job_ends_once(tmp_path: Path) -> None:
    account = asyncio.run(run_soak("embedded", LENGTH, tmp_path, lambda _: None))
    messages, jobs, soundness, *_ = verdicts(account)
    assert messages.holds, (messages.found, culprits(account))
    assert jobs.holds, jobs.found
    assert soundness.holds, soundness.found
    assert all(service.messages.messages for service in account.services)
    assert sum(sum(service.fired.values()) for service in account.services) >= FAULTS_MIN


def culprits(account: SoakAccount) -> list[str]:
    return [line for service in account.services for line in service.messages.culprits]
