"""`dovemq pipeline …`: jobs on Spark: traces to figures and models, models swept."""

from dovemq.cli import pipeline_capacity, pipeline_sweep
from dovemq.cli.command import Commands, add_group


def add(commands: Commands) -> None:
    parser = add_group(
        commands,
        "pipeline",
        "figures from traces, sweeps of models",
        "dovemq pipeline sweep sweep.toml --plot sweep.svg",
    )
    kinds = parser.add_subparsers(metavar="JOB", required=True)
    for kind in (pipeline_sweep, pipeline_capacity):
        kind.add(kinds)
