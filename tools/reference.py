"""Writes `docs/reference` from the code: `make docs`, or `python -m tools.reference`.

Each page is made from a table that the product itself uses, so that both agree.
`tests/tidy/test_reference.py` compares the files with the generated text.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dovemq.cli import build_parser
from dovemq.cli.command import EXIT_CODES
from dovemq.core.limits import DELAY_MS, ORDER_HINT, SECOND_MS, Range
from dovemq.core.queue import AUTO, RANGES, QueueSettings
from dovemq.server.admin_context import AdminRoute
from dovemq.server.admin_routes import ROUTES
from dovemq.settings import Setting, all_settings
from dovemq.sqs.attributes import CHOICES, READ_ONLY, SETTABLE, QueueAttribute
from dovemq.sqs.faults import FAULTS, NEVER_GIVEN
from dovemq.sqs.operations import OPERATIONS
from dovemq.telemetry.metrics import METRICS, OTHER
from dovemq.telemetry.remote import FILES_PER_LISTING
from dovemq.telemetry.schema import COLUMNS, Column, TraceEvent
from dovemq.telemetry.trace import CHUNK_TICKS_MAX, MESSAGES_KNOWN_MAX, TICK_SECONDS
from tools.conformance import conformance_page
from tools.markdown import code, fenced, page, section, table
from tools.papers import papers_page
from tools.policies import policies_page
from tools.results import main as write_results

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "reference"

FORMS: Final[Mapping[str, str]] = {
    "allow": "JSON: redrivePermission, sourceQueueArns",
    "choice": "as in SQS",
    "flag": "true, false",
    "order": f"{ORDER_HINT.least} to {ORDER_HINT.most}, any or adaptive",
    "policy": "JSON: [queue policies](policies.md)",
    "redrive": "JSON: deadLetterTargetArn, maxReceiveCount",
    "seconds": f"{DELAY_MS.least} to {DELAY_MS.most // SECOND_MS} seconds",
    "text": "stored and returned; nothing is encrypted",
}
"""The values of attributes that have no range."""

EXTENDED_MEANING: Final[Mapping[str, str]] = {
    "OrderHint": "A receive draws among this many of the first visible messages: 1 stays close "
    "to the order of sending, more makes concurrent receivers collide less. With `adaptive` the "
    "number follows the [collisions](../explanation/adaptive-hint.md); it is 1 on queues whose "
    "index has an owner, where nothing collides. 1 on FIFO queues.",
    "Coordination": "How front ends that share the queue agree about it; see "
    "[the four modes](../explanation/coordination.md). `none` and `serial` need a store on "
    "Cassandra and a standard queue with one partition. It cannot change.",
    "ReceiveDraw": "`none` and `serial`, for experiments: `literal` draws hidden messages too, as "
    "the paper bdqs does, and a receive that draws one finds nothing.",
    "DeliveryPaused": "Receives return nothing until it is false again; sends go on.",
    "LongDelay": "Delays may reach the retention period instead of 15 minutes.",
    "GroupConcurrency": "At most this many messages of one group are leased at a time. Empty "
    "removes the limit.",
    "GroupRatePerSecond": "At most this many messages of one group are leased in any second. Empty "
    "removes the limit.",
    "Partitions": "The number of physical queues that hold the messages; see "
    "[partitions](../explanation/partitions.md). It cannot change on FIFO queues, which need "
    "`DeduplicationScope` `messageGroup` for more than one. With `auto` the queue "
    "[sizes itself](../explanation/partitions.md#queues-that-size-themselves).",
    "PartitionsMin": "`Partitions=auto`: the least number of partitions.",
    "PartitionsMax": "`Partitions=auto`: the greatest number of partitions.",
    "InhibitionSeconds": "`Partitions=auto`: the time after a change in which no partition is "
    "added or marked for removal.",
    "DequeueStrategy": "How a receive searches several partitions: in turn, by their numbers of "
    "messages at the last look, or in turn with a pause after a miss.",
    "DequeueFanout": "A receive looks into at most this many partitions in a row.",
    "RdsSleepMilliseconds": "`rds`: the pause of a receive that found nothing; `auto` tunes it.",
    "RdsWake": "`rds`: whether the arrival of a message ends the pause early.",
    "PmsPeriodMilliseconds": "`pms`: the time between two looks at the numbers of messages.",
    "SessionMigration": "Whether sessions of a queue that sizes itself may change their partition.",
}


TRACE_PROMISES: Final = f"""\
- A message that is sent, leased and settled has one `sent`, one `settled` and for each delivery
  one `leased` row, even if clients disconnect. A `leased` row exists only if its response was
  written; a lease that was undone has none.
- `sent` and `settled` rows exist even if no client got the response; then `ot_us` and `latency_us`
  are null, as they are if the response was written more than {TICK_SECONDS:g} s after the event.
- A file has its name only when it is complete. It is finished after `trace_rotate_rows` or
  `trace_rotate_seconds`, and at a stop. A kill -9 loses unfinished files: the rows of up to
  `trace_rotate_seconds` and {(CHUNK_TICKS_MAX + 1) * TICK_SECONDS:g} s more.
- The service does not wait for the trace. When it cannot follow, or its storage fails, rows are
  dropped, counted (`dovemq_trace_rows_total`) and logged.
- Beyond `trace_bytes_max` the oldest files are removed. On S3 and other file systems that Arrow
  reaches, a front end counts its own files and lists the folder every {FILES_PER_LISTING} of them.
- `message_id` is null in `settled` and `expired` rows of messages that this process neither stored
  nor delivered, or that were followed by more than {MESSAGES_KNOWN_MAX // 2:,} others; `send_seq`
  is then the sequence in the store.
- Times do not follow a change of the machine's clock while the server runs.
- Messages that are removed with their queue have no row, nor do programs that use `dovemq.open`."""


def settings_page() -> str:
    rows = (
        (
            code(setting.name),
            code(setting.flag),
            code(setting.variable),
            _default(setting),
            setting.help,
        )
        for setting in all_settings()
    )
    return page(
        "Settings",
        "A TOML file (`--config FILE`, or `DOVEMQ_CONFIG`) overrides the defaults, the environment "
        "overrides the file, and flags of `dovemq serve` override the environment. In the file a "
        "name with a period is a key in a table: `[http]`, `body_bytes_max = 1048576`. `dovemq "
        "doctor --settings` shows the values and their origins. An unknown `DOVEMQ_…` variable is "
        "an error, except for those that Kubernetes sets for a Service `dovemq` or `dovemq-…` "
        "(`DOVEMQ_SERVICE_HOST`, `DOVEMQ_PORT=tcp://…` and so on): they are ignored.",
        table(("name", "flag", "variable", "default", "meaning"), rows),
    )


def _default(setting: Setting) -> str:
    return " ".join(filter(None, (code(setting.default), setting.unit)))


def commands_page() -> str:
    return page(
        "Commands",
        "A command finds its server in this order: `--endpoint-url`; the server that runs on the "
        "directory of `--data`, or listens on `--port`; `AWS_ENDPOINT_URL_SQS`; the server on the "
        "default data directory. It takes its access key from `--profile`, from the directory of "
        "`--data`, from the AWS variables, or from the default data directory. `--json` prints "
        "one JSON document on standard output; messages for people are on standard error.",
        section(
            "Exit codes",
            table(("code", "meaning"), ((str(code), text) for code, text in EXIT_CODES.items())),
        ),
        *(_command(parser) for parser in _commands(build_parser())),
    )


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The commands that do something: the leaves of the tree of parsers."""
    children = [
        child
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for child in action.choices.values()
    ]
    for child in children:
        yield from _commands(child)
    if not children:
        yield parser


def _command(parser: argparse.ArgumentParser) -> str:
    rows = [
        (code(_spelling(action)), (action.help or "") % _values(action))
        for action in parser._actions
        if action.help != argparse.SUPPRESS and "--help" not in action.option_strings
    ]
    example = (parser.epilog or "").removeprefix("example:")
    lines = "\n".join(line.strip() for line in example.strip().splitlines())
    return section(
        parser.prog,
        _sentence(parser.description or ""),
        table(("option", "meaning"), rows),
        fenced("sh", lines),
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _spelling(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None and action.metavar is None:
        metavar = "{" + ",".join(map(str, action.choices)) + "}"
    if not action.option_strings:
        return metavar
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {metavar}"


def _values(action: argparse.Action) -> dict[str, Any]:
    return {name: value for name, value in vars(action).items() if not name.startswith("_")}


def errors_page() -> str:
    rows = (
        (
            code(fault.code),
            code(fault.shape),
            str(fault.status),
            code(kind.__name__),
            "seen at AWS" if fault.verified else "unverified",
        )
        for kind, fault in FAULTS.items()
    )
    never = ((code(name), reason) for name, reason in sorted(NEVER_GIVEN.items()))
    return page(
        "Errors",
        "The Query protocol and the header `x-amzn-query-error` of JSON carry the code; `__type` "
        "in JSON carries the type. A text marked *unverified* was not seen in a response of AWS. "
        "503 means: try again later. After a failure of the disk, only a restart shows whether "
        "the request was done.",
        table(("code", "type", "status", "error inside", "text"), rows),
        section("Never returned", table(("type", "why"), never)),
    )


def attributes_page() -> str:
    own = [_attribute_row(attribute) for attribute in SETTABLE if not attribute.extended]
    extended = [
        (*_attribute_row(attribute)[:3], EXTENDED_MEANING[attribute.name])
        for attribute in SETTABLE
        if attribute.extended
    ]
    return page(
        "Queue attributes",
        "CreateQueue and SetQueueAttributes set attributes, GetQueueAttributes returns them. "
        "DoveMQ's own attributes are set in the same way, but returned only by name or for "
        "`AllExtended`, so that `All` returns what it does in SQS.",
        section("DoveMQ's own", table(("attribute", "default", "values", "meaning"), extended)),
        section("SQS's", table(("attribute", "default", "values", "queues"), own)),
        section("Read-only", ", ".join(map(code, READ_ONLY)) + ". The counts are exact."),
    )


def _attribute_row(attribute: QueueAttribute) -> tuple[str, str, str, str]:
    value = getattr(QueueSettings(), attribute.field)
    default = "" if value is None else _shown(attribute, value)
    allowed = RANGES.get(attribute.field)
    values = attribute.form if allowed is None else _shown_range(attribute, allowed)
    if attribute.extended and attribute.form == "choice":
        values = ", ".join(CHOICES[attribute.field])
    queues = "FIFO" if attribute.fifo else "all"
    return code(attribute.name), code(default), FORMS.get(values, values), queues


def _shown(attribute: QueueAttribute, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value // SECOND_MS if attribute.form == "seconds" else value)


def _shown_range(attribute: QueueAttribute, allowed: Range) -> str:
    least, most = (_shown(attribute, end) for end in allowed)
    unit = " seconds" if attribute.form == "seconds" else ""
    other = f", or {AUTO}" if attribute.form in ("tuned", "sizing") else ""
    return f"{least} to {most}{unit}{other}"


def admin_page() -> str:
    rows = (
        (
            code(f"{route.method} {route.path}"),
            _route_role(route),
            ", ".join(map(code, route.query)),
            ", ".join(map(code, route.body.__struct_fields__ if route.body else ())),
            route.summary,
        )
        for route in ROUTES
    )
    recorded = ", ".join(route.name for route in ROUTES if route.audited)
    operations = ", ".join(code(name) for name, each in OPERATIONS.items() if each.audited)
    return page(
        "Admin API",
        "The admin API speaks JSON on its own port, by default the one after that of SQS. A "
        "request is authorised by an access key in HTTP Basic, by a SigV4 signature with the "
        "service name `dovemq`, or by the token of a login: `Authorization: Bearer TOKEN`. The "
        "table names the lowest role that is needed: admin includes operator, and operator "
        "includes viewer. An account needs no role for its own "
        'queues where the table says "own queues". Bodies are JSON. An error is '
        '`{"error": {"code": …, "message": …}}`. Unknown parameters and unknown fields of a body '
        "are refused. `next` in a page is the value of `after` for the page "
        "that follows, or null.",
        table(("route", "role", "parameters", "body", "what it does"), rows),
        section(
            "Recorded",
            f"The audit log records these routes: {recorded}; these operations: {operations}; and "
            "the changes that the service makes to partitions of queues that size themselves, "
            "without an account.",
        ),
    )


def _route_role(route: AdminRoute) -> str:
    if route.role is not None:
        return f"{route.role.value}, or one's own" if route.own else route.role.value
    return "any account" if route.signed else "anybody"


def metrics_page() -> str:
    rows = (
        (code(each.name), each.kind, ", ".join(map(code, each.labels)), each.help)
        for each in METRICS
    )
    return page(
        "Metrics",
        "`GET /metrics` of the admin API returns these metrics in the text format of Prometheus; "
        "[observe a running server](../how-to/observe.md) shows how to scrape them. Counters "
        "start at zero with the server; Prometheus computes rates. The `metrics_queues_max` "
        f"busiest queues have labels of their own; all others share `queue={OTHER}`. Counts that "
        "a queue collected there stay there when it gets its own label. CPU, "
        "memory and descriptors of the process follow as `process_…`.",
        table(("metric", "kind", "labels", "meaning"), rows),
    )


def trace_page() -> str:
    events = ((code(event.value), event.meaning) for event in TraceEvent)
    columns = (
        (code(column.name), column.form, _events_of(column), column.meaning) for column in COLUMNS
    )
    return page(
        "The lifecycle trace",
        "`dovemq serve --trace DIR` writes one row for each event, as Parquet files "
        "`trace-…-….parquet` (zstd). Their rows are not sorted. They contain no bodies, receipts "
        "or secrets. [Observe a running server](../how-to/observe.md) shows how to read them. The "
        "type `label` is text with dictionary encoding.",
        section("Events", table(("event", "meaning"), events)),
        section("Columns", table(("column", "type", "not null in", "meaning"), columns)),
        section("What it promises", TRACE_PROMISES),
    )


def _events_of(column: Column) -> str:
    if len(column.events) == len(TraceEvent):
        return "all"
    return ", ".join(code(event.value) for event in column.events)


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "admin.md": admin_page,
    "attributes.md": attributes_page,
    "commands.md": commands_page,
    "conformance.md": conformance_page,
    "errors.md": errors_page,
    "metrics.md": metrics_page,
    "papers.md": papers_page,
    "policies.md": policies_page,
    "settings.md": settings_page,
    "trace.md": trace_page,
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, write in PAGES.items():
        (FOLDER / name).write_text(write())
        print(FOLDER.joinpath(name).relative_to(FOLDER.parents[1]))
    write_results()


if __name__ == "__main__":
    main()
