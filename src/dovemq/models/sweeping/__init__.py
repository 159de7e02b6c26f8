"""Sweeps: many configurations of a model, each replicated until its figures are precise enough.

    from dovemq.models.sweeping import SweepFindings, read_sweep

    sweep = read_sweep(tomllib.loads(text), read_file)
    findings = SweepFindings(sweep)
    while asked := findings.asked():
        for configuration, replication in asked:
            findings.add(configuration, replication, sweep.replicate(configuration, replication))

A replication is a pure function of the sweep and its two numbers, so that it does not matter where
and when it runs. `dovemq.pipeline` runs all of them. Needs numba.
"""

from dovemq.models.sweeping.findings import SweepFindings as SweepFindings
from dovemq.models.sweeping.spec import read_sweep as read_sweep
from dovemq.models.sweeping.stopping import Stopping as Stopping
from dovemq.models.sweeping.sweep import Sweep as Sweep
from dovemq.models.sweeping.trials import Question as Question
from dovemq.models.sweeping.trials import Trial as Trial
