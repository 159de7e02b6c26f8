"""`dovemq model …`: predictions for a queue, a queue service or a network of topics."""

from dovemq.cli import model_network, model_queue, model_vma
from dovemq.cli.command import Commands, add_group


def add(commands: Commands) -> None:
    parser = add_group(
        commands,
        "model",
        "predict waiting times and utilisation of queues",
        "dovemq model queue --arrival-rate 30 --service-rate 10 --servers 4",
    )
    kinds = parser.add_subparsers(metavar="MODEL", required=True)
    for kind in (model_vma, model_queue, model_network):
        kind.add(kinds)
