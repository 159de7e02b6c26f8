"""`dovemq pipeline …`: jobs on traces and models, with Spark or on this machine."""

from dovemq.cli import (
    pipeline_calibrate,
    pipeline_capacity,
    pipeline_metrics,
    pipeline_monitor,
    pipeline_sweep,
)
from dovemq.cli.command import Commands, add_group


def add(commands: Commands) -> None:
    parser = add_group(
        commands,
        "pipeline",
        "measure traces, calibrate models and sweep them, with Spark or on this machine",
        "dovemq pipeline metrics ./trace",
    )
    kinds = parser.add_subparsers(metavar="JOB", required=True)
    for kind in (
        pipeline_calibrate,
        pipeline_capacity,
        pipeline_metrics,
        pipeline_monitor,
        pipeline_sweep,
    ):
        kind.add(kinds)
