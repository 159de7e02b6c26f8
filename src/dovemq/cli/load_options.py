"""The options of a load run, and the plan that they make."""

import argparse
from typing import TYPE_CHECKING

from dovemq.cli.command import count, number, pair
from dovemq.cli.target import Target
from dovemq.core.ports import Clock

if TYPE_CHECKING:
    from dovemq.load.plan import LoadPlan


def add_options(parser: argparse.ArgumentParser) -> None:
    _add_programs(parser)
    _add_requests(parser)
    _add_queues(parser)
    _add_rates(parser)
    _add_failures(parser)
    _add_measuring(parser)


def _add_programs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "programs", "A sender or receiver is one connection with one request at a time."
    )
    group.add_argument(
        "--applications",
        type=count,
        default=1,
        metavar="Q",
        help="queues, each with senders and receivers of its own (default: %(default)s)",
    )
    group.add_argument(
        "--senders", type=count, default=8, metavar="N", help="per queue (default: %(default)s)"
    )
    group.add_argument(
        "--receivers", type=count, default=8, metavar="N", help="per queue (default: %(default)s)"
    )
    group.add_argument(
        "--messages",
        type=count,
        metavar="N",
        help="per sender (default: 1000, or with --seconds as many as they can)",
    )
    group.add_argument("--seconds", type=_positive, metavar="S", help="send no longer than this")
    group.add_argument(
        "--bytes",
        type=count,
        default=1024,
        metavar="N",
        help="of a body: label, checksum and random text (default: %(default)s)",
    )
    group.add_argument(
        "--send-pause", type=_seconds, default=0.0, metavar="S", help="between sends of a sender"
    )
    group.add_argument(
        "--receive-pause",
        type=_seconds,
        default=0.0,
        metavar="S",
        help="between a receive and its delete: the time that work takes",
    )
    group.add_argument(
        "--receive-pauses",
        choices=("constant", "exponential"),
        default="constant",
        help="whether it takes this each time, or on average (default: %(default)s)",
    )


def _add_requests(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("requests")
    group.add_argument(
        "--phases",
        choices=("together", "apart"),
        default="together",
        help="whether receivers begin with the senders or after them (default: %(default)s)",
    )
    group.add_argument(
        "--send-batch",
        type=count,
        default=1,
        metavar="N",
        help="messages per send, 1 to 10 (default: %(default)s)",
    )
    group.add_argument(
        "--receive-batch",
        type=count,
        default=10,
        metavar="N",
        help="messages per receive and delete, 1 to 10 (default: %(default)s)",
    )
    group.add_argument(
        "--wait",
        type=number,
        default=1,
        metavar="S",
        help="how long a receive waits for the first message (default: %(default)s)",
    )
    group.add_argument(
        "--plain",
        action="store_true",
        help="send no number as attribute dovemq.seq, and ask for no receive count",
    )


def _add_queues(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("queues", "They are made for the run, and removed after it.")
    group.add_argument(
        "--lease",
        type=count,
        default=30,
        metavar="S",
        help="visibility timeout of the queues (default: %(default)s)",
    )
    group.add_argument("--fifo", action="store_true", help="FIFO queues, a group per sender")
    group.add_argument(
        "--attribute",
        type=pair,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the queues, such as OrderHint=3; may be repeated",
    )
    group.add_argument("--keep-queues", action="store_true", help="do not remove them at the end")


def _add_rates(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "open loop", "Requests have a time; who is late asks at once, and the waiting counts."
    )
    group.add_argument(
        "--send-rate", type=_positive, metavar="N", help="messages per second, all senders together"
    )
    group.add_argument(
        "--receive-rate",
        type=_positive,
        metavar="N",
        help="requests per second, all receivers together",
    )
    group.add_argument(
        "--arrivals",
        choices=("poisson", "constant"),
        default="poisson",
        help="how such times are spread (default: %(default)s)",
    )
    group.add_argument(
        "--punctual",
        action="store_true",
        help="ask at the very microsecond, not at whole milliseconds; takes all of a processor",
    )


def _add_failures(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("failures")
    group.add_argument(
        "--resend",
        action="store_true",
        help="make a send that was refused or not answered once more, until it is acknowledged",
    )
    group.add_argument(
        "--answer-seconds",
        type=_positive,
        default=30.0,
        metavar="S",
        help="an answer that takes longer is lost (default: %(default)s)",
    )
    group.add_argument(
        "--outage-seconds",
        type=_positive,
        default=10.0,
        metavar="S",
        help="give up when a client had no success for so long (default: %(default)s)",
    )
    group.add_argument(
        "--drain-seconds",
        type=_positive,
        metavar="S",
        help="wait so long for messages that do not come (default: two leases, a pause and 5 s)",
    )
    group.add_argument(
        "--linger",
        type=_seconds,
        default=0.0,
        metavar="S",
        help="go on receiving after all have come, to see what comes again",
    )


def _add_measuring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("measuring")
    group.add_argument(
        "--warm-up",
        type=_seconds,
        default=0.0,
        metavar="S",
        help="left out of rates and times at the start of each phase",
    )
    group.add_argument(
        "--repetitions",
        type=count,
        default=1,
        metavar="N",
        help="on fresh queues; medians are told (default: %(default)s)",
    )
    group.add_argument(
        "--processes",
        type=count,
        default=1,
        metavar="N",
        help="that senders and receivers are dealt to (default: %(default)s)",
    )
    group.add_argument(
        "--server-pid", type=count, metavar="PID", help="tell the CPU of this process, per message"
    )
    group.add_argument("--seed", type=number, default=0, metavar="N", help="of all chance")


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
        raise argparse.ArgumentTypeError("0 is too little")
    return value


def plan_of(args: argparse.Namespace, target: Target, clock: Clock) -> "LoadPlan":
    from dovemq.load.plan import ArrivalPattern, Endpoint, LoadPlan, Pauses, Phases

    bundle = str(target.ca_bundle) if target.ca_bundle else None
    messages = args.messages
    if messages is None and args.seconds is None:
        messages = 1_000
    return LoadPlan(
        endpoint=Endpoint(target.endpoint_url, target.key, target.region, bundle),
        name=f"load-{clock.now_ms():x}",
        seed=args.seed,
        applications=args.applications,
        senders=args.senders,
        receivers=args.receivers,
        messages=messages,
        seconds_max=args.seconds,
        send_pause_ms=_ms(args.send_pause),
        receive_pause_ms=_ms(args.receive_pause),
        receive_pauses=Pauses(args.receive_pauses),
        body_bytes=args.bytes,
        send_batch=args.send_batch,
        receive_batch=args.receive_batch,
        wait_seconds=args.wait,
        lease_seconds=args.lease,
        phases=Phases(args.phases),
        send_rate=args.send_rate,
        receive_rate=args.receive_rate,
        arrivals=ArrivalPattern(args.arrivals),
        punctual=args.punctual,
        fifo=args.fifo,
        queue_attributes=dict(args.attribute),
        keep_queues=args.keep_queues,
        resend=args.resend,
        plain=args.plain,
        answer_ms_max=_ms(args.answer_seconds),
        outage_ms_max=_ms(args.outage_seconds),
        drain_ms_max=None if args.drain_seconds is None else _ms(args.drain_seconds),
        linger_ms=_ms(args.linger),
        warm_up_ms=_ms(args.warm_up),
        repetitions=args.repetitions,
        processes=args.processes,
        server_pid=args.server_pid,
    )


def _ms(seconds: float) -> int:
    return round(1_000 * seconds)
