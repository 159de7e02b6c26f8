"""The options of a load run, and the plan that they make.

Each option is stored under the name of the plan's field that it sets.
"""

import argparse
from typing import TYPE_CHECKING, Any

from dovemq.cli.command import count, number, pair
from dovemq.cli.target import Target
from dovemq.core.ports import Clock

if TYPE_CHECKING:
    from dovemq.load.plan import LoadPlan

_DEFAULT = " (default: %(default)s)"


def add_options(parser: argparse.ArgumentParser) -> None:
    _add_clients(parser)
    _add_requests(parser)
    _add_queues(parser)
    _add_rates(parser)
    _add_failures(parser)
    _add_measuring(parser)


def _add_clients(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "clients", "A sender or receiver is one connection with one request at a time."
    )
    for name, default, metavar, text in (
        ("--applications", 1, "Q", "number of queues, each with its own senders and receivers"),
        ("--senders", 8, "N", "senders per queue"),
        ("--receivers", 8, "N", "receivers per queue"),
    ):
        group.add_argument(name, type=count, default=default, metavar=metavar, help=text + _DEFAULT)
    group.add_argument(
        "--messages",
        type=count,
        metavar="N",
        help="messages per sender (default: 1000, or with --seconds no limit)",
    )
    group.add_argument(
        "--seconds", dest="seconds_max", type=_positive, metavar="S", help="longest time of sending"
    )
    group.add_argument(
        "--bytes",
        dest="body_bytes",
        type=count,
        default=1024,
        metavar="N",
        help="size of a body: label, checksum and random text" + _DEFAULT,
    )
    _add_ms(group, "--send-pause", "send_pause_ms", "seconds between two sends of a sender")
    _add_ms(
        group,
        "--receive-pause",
        "receive_pause_ms",
        "seconds of work between a receive and its delete",
    )
    group.add_argument(
        "--receive-pauses",
        choices=("constant", "exponential"),
        default="constant",
        help="distribution of the work time" + _DEFAULT,
    )


def _add_requests(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("requests")
    group.add_argument(
        "--phases",
        choices=("together", "apart"),
        default="together",
        help="start of the receivers: together with the senders, or after them" + _DEFAULT,
    )
    for name, default, text in (
        ("--send-batch", 1, "messages per send, 1 to 10"),
        ("--receive-batch", 10, "messages per receive and delete, 1 to 10"),
    ):
        group.add_argument(name, type=count, default=default, metavar="N", help=text + _DEFAULT)
    group.add_argument(
        "--wait",
        dest="wait_seconds",
        type=number,
        default=1,
        metavar="S",
        help="seconds that a receive waits for the first message" + _DEFAULT,
    )
    group.add_argument(
        "--plain",
        action="store_true",
        help="send no attribute dovemq.seq, and request no receive count",
    )


def _add_queues(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("queues", "Queues are created for the run and removed after.")
    group.add_argument(
        "--lease",
        dest="lease_seconds",
        type=count,
        default=30,
        metavar="S",
        help="visibility timeout of the queues in seconds" + _DEFAULT,
    )
    group.add_argument("--fifo", action="store_true", help="use FIFO queues, a group per sender")
    group.add_argument(
        "--attribute",
        dest="queue_attributes",
        type=pair,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="attribute of the queues, such as OrderHint=3; may be repeated",
    )
    group.add_argument("--keep-queues", action="store_true", help="do not remove the queues")


def _add_rates(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "open loop", "Requests have due times; a late client sends at once, and its delay counts."
    )
    for name, text in (
        ("--send-rate", "messages per second of all senders together"),
        ("--receive-rate", "requests per second of all receivers together"),
    ):
        group.add_argument(name, type=_positive, metavar="N", help=text)
    group.add_argument(
        "--arrivals",
        choices=("poisson", "constant"),
        default="poisson",
        help="distribution of the due times" + _DEFAULT,
    )
    group.add_argument(
        "--punctual",
        action="store_true",
        help="send at the exact microsecond instead of whole milliseconds; uses a whole processor",
    )


def _add_failures(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("failures")
    group.add_argument(
        "--resend",
        action="store_true",
        help="repeat a send that was refused or not answered until it is acknowledged",
    )
    for name, field, default, text in (
        (
            "--answer-seconds",
            "answer_ms_max",
            30_000,
            "seconds after which an answer counts as lost",
        ),
        (
            "--outage-seconds",
            "outage_ms_max",
            10_000,
            "seconds without success until a client stops",
        ),
    ):
        help_text = f"{text} (default: {default // 1_000})"
        group.add_argument(
            name, dest=field, type=_positive_ms, default=default, metavar="S", help=help_text
        )
    group.add_argument(
        "--drain-seconds",
        dest="drain_ms_max",
        type=_positive_ms,
        metavar="S",
        help="longest wait for missing messages (default: two leases, a pause and 5 s)",
    )
    _add_ms(
        group,
        "--linger",
        "linger_ms",
        "seconds to go on receiving after all messages have come, to find duplicates",
    )


def _add_measuring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("measuring")
    _add_ms(group, "--warm-up", "warm_up_ms", "seconds to leave out at the start of each phase")
    for name, text in (
        ("--repetitions", "repetitions on new queues, for medians"),
        ("--processes", "processes of the senders and receivers"),
    ):
        group.add_argument(name, type=count, default=1, metavar="N", help=text + _DEFAULT)
    group.add_argument(
        "--server-pid",
        type=count,
        metavar="PID",
        help="process of the server, to measure its CPU time per message",
    )
    group.add_argument("--seed", type=number, default=0, metavar="N", help="random seed")


def _add_ms(group: argparse._ArgumentGroup, name: str, field: str, text: str) -> None:
    """Adds an option that is given in seconds and stored in milliseconds."""
    group.add_argument(
        name, dest=field, type=_ms, default=0, metavar="S", help=f"{text} (default: 0)"
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return value


def _positive(text: str) -> float:
    value = _seconds(text)
    if not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def _ms(text: str) -> int:
    return round(1_000 * _seconds(text))


def _positive_ms(text: str) -> int:
    return round(1_000 * _positive(text))


def plan_of(args: argparse.Namespace, target: Target, clock: Clock) -> "LoadPlan":
    from dovemq.load.plan import ArrivalPattern, Endpoint, LoadPlan, Pauses, Phases

    bundle = str(target.ca_bundle) if target.ca_bundle else None
    fields: dict[str, Any] = {
        name: value for name, value in vars(args).items() if name in LoadPlan.__struct_fields__
    }
    if args.messages is None and args.seconds_max is None:
        fields["messages"] = 1_000
    fields |= {
        "endpoint": Endpoint(target.endpoint_url, target.key, target.region, bundle),
        "name": f"load-{clock.now_ms():x}",
        "receive_pauses": Pauses(args.receive_pauses),
        "phases": Phases(args.phases),
        "arrivals": ArrivalPattern(args.arrivals),
        "queue_attributes": dict(args.queue_attributes),
    }
    return LoadPlan(**fields)
