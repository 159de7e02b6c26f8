"""Settings of random walks of state machines.

`DOVETEST_MACHINE_RUNS` sets how many walks of fifty steps each machine takes.
"""

import os

from hypothesis import HealthCheck, settings

RUNS = int(os.environ.get("DOVETEST_MACHINE_RUNS", "40"))
SECONDS_MAX = 60 + 5 * RUNS

WALK = settings(
    max_examples=RUNS,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
