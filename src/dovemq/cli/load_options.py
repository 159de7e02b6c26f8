"""The options of a load run, and the plan that they make.

Each option is stored under the name of the plan's field that it sets.
"""

import argparse
from typing import TYPE_CHECKING, Any

from dovemq.cli.command import CommandParser, WrongUse
from dovemq.cli.modelling import modelling
from dovemq.cli.target import find_target
from dovemq.cli.values import count, new_directory, number, pair
from dovemq.system.clock import SystemClock

if TYPE_CHECKING:
    from dovemq.load.plan import LoadPlan


def add_options(parser: CommandParser) -> None:
    text = "new directory of the journals, which are kept"
    parser.option("--journal", "DIR", text, new_directory)
    _add_clients(parser)
    _add_requests(parser)
    _add_queues(parser)
    _add_rates(parser)
    _add_failures(parser)
    _add_measuring(parser)


def _add_clients(parser: CommandParser) -> None:
    group = parser.group(
        "clients", "A sender or receiver is one connection with one request at a time."
    )
    add = group.option
    text = "number of queues, each with its own senders and receivers"
    add("--applications", "Q", text, count, 1)
    add("--senders", "N", "senders per queue", count, 8)
    add("--receivers", "N", "receivers per queue", count, 8)
    add("--messages", "N", "messages per sender (default: 1000, or with --seconds no limit)", count)
    add("--seconds", "S", "longest time of sending", _positive, dest="seconds_max")
    text = "length of a wave: all clients but the first come one by one, and leave one by one"
    add("--wave", "S", text, _positive, dest="wave_seconds")
    text = "size of a body: label, checksum and random text"
    add("--bytes", "N", text, count, 1024, dest="body_bytes")
    text = "seconds between two sends of a sender"
    add("--send-pause", "S", text, _ms, "0", dest="send_pause_ms")
    text = "seconds of work between a receive and its delete"
    add("--receive-pause", "S", text, _ms, "0", dest="receive_pause_ms")
    pauses = ("constant", "exponential")
    group.choice("--receive-pauses", pauses, "distribution of the work time", pauses[0])


def _add_requests(parser: CommandParser) -> None:
    group = parser.group("requests")
    add = group.option
    text = "start of the receivers: together with the senders, or after them"
    group.choice("--phases", ("together", "apart"), text, "together")
    add("--send-batch", "N", "messages per send, 1 to 10", count, 1)
    add("--receive-batch", "N", "messages per receive and delete, 1 to 10", count, 10)
    text = "seconds that a receive waits for the first message"
    add("--wait", "S", text, number, 1, dest="wait_seconds")
    group.switch("--plain", "send no attribute dovemq.seq, and request no receive count")


def _add_queues(parser: CommandParser) -> None:
    group = parser.group("queues", "Queues are created for the run and removed after.")
    text = "visibility timeout of the queues in seconds"
    group.option("--lease", "S", text, count, 30, dest="lease_seconds")
    group.switch("--fifo", "use FIFO queues, a group per sender")
    text = "attribute of the queues, such as OrderHint=3"
    group.repeated("--attribute", "NAME=VALUE", text, pair, dest="queue_attributes")
    group.switch("--keep-queues", "do not remove the queues")


def _add_rates(parser: CommandParser) -> None:
    group = parser.group(
        "open loop", "Requests have due times; a late client sends at once, and its delay counts."
    )
    group.option("--send-rate", "N", "messages per second of all senders together", _positive)
    group.option("--receive-rate", "N", "requests per second of all receivers together", _positive)
    group.choice("--arrivals", ("poisson", "constant"), "distribution of the due times", "poisson")
    text = "send at the exact microsecond instead of whole milliseconds; uses a whole processor"
    group.switch("--punctual", text)


def _add_failures(parser: CommandParser) -> None:
    group = parser.group("failures")
    add = group.option
    text = "repeat a send that was refused or not answered until it is acknowledged"
    group.switch("--resend", text)
    text = "seconds after which an answer counts as lost"
    add("--answer-seconds", "S", text, _positive_ms, "30", dest="answer_ms_max")
    text = "seconds without success until a client stops"
    add("--outage-seconds", "S", text, _positive_ms, "10", dest="outage_ms_max")
    text = "longest wait for missing messages (default: two leases, a pause and 5 s)"
    add("--drain-seconds", "S", text, _positive_ms, dest="drain_ms_max")
    text = "seconds to go on receiving after all messages have come, to find duplicates"
    add("--linger", "S", text, _ms, "0", dest="linger_ms")


def _add_measuring(parser: CommandParser) -> None:
    add = parser.group("measuring").option
    text = "seconds to leave out at the start of each phase"
    add("--warm-up", "S", text, _ms, "0", dest="warm_up_ms")
    add("--repetitions", "N", "repetitions on new queues, for medians", count, 1)
    add("--processes", "N", "processes of the senders and receivers", count, 1)
    add("--server-pid", "PID", "process of the server, to measure its CPU time per message", count)
    add("--seed", "N", "random seed", number, 0)


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


def plan_of(args: argparse.Namespace) -> "LoadPlan":
    with modelling():
        from dovemq.load.plan import (
            ArrivalPattern,
            Endpoint,
            LoadPlan,
            Pauses,
            Phases,
            PlanInvalid,
        )

    target = find_target(args)
    bundle = str(target.ca_bundle) if target.ca_bundle else None
    fields: dict[str, Any] = {
        name: value for name, value in vars(args).items() if name in LoadPlan.__struct_fields__
    }
    if args.messages is None and args.seconds_max is None:
        fields["messages"] = 1_000
    fields |= {
        "endpoint": Endpoint(target.endpoint_url, target.key, target.region, bundle),
        "name": f"load-{SystemClock().now_ms():x}",
        "receive_pauses": Pauses(args.receive_pauses),
        "phases": Phases(args.phases),
        "arrivals": ArrivalPattern(args.arrivals),
        "queue_attributes": dict(args.queue_attributes),
    }
    try:
        return LoadPlan(**fields)
    except PlanInvalid as error:
        raise WrongUse(str(error)) from None
