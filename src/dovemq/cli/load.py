"""`dovemq load …`: drives a queue service and accounts for every message."""

from dovemq.cli import load_check, load_run
from dovemq.cli.command import Commands, add_group


def add(commands: Commands) -> None:
    parser = add_group(
        commands,
        "load",
        "drive a queue service and account for every message",
        "dovemq load run --senders 8 --receivers 8 --messages 1000",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    load_run.add(actions)
    load_check.add(actions)
