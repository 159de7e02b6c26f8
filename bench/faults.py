"""The service under each fault and under all together: the checker finds no lost message.

    python -m bench.faults [--quick] [--only WORD] [--publish]

A cell takes 20 s to 3 minutes and is written when it ends; an interrupted run continues where it
stopped. `--quick` has few messages and faults at short intervals: it shows that the bench works.
`--publish` runs nothing: it writes the existing results into the docs.
"""

import datetime
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import uvloop
from msgspec.structs import replace

from bench.fault_cells import AREAS, FIRED_MIN, MESSAGES, Cell, cells
from bench.tables import Row, parser_of, show
from dovemq.core.access import AccessKey
from dovemq.load.faults.decisions import Drawn
from dovemq.load.faults.fault_log import FaultLog, FaultLogHeader
from dovemq.load.faults.process import Announcement
from dovemq.load.faults.run import FaultRunResult, Stage, run
from dovemq.load.faults.spec import FaultSpec, parse_spec
from dovemq.load.plan import Endpoint, LoadPlan
from dovemq.system.key_file import key_path, read_key

RESULTS: Final = Path(__file__).with_name("faults.jsonl")
PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "faults.md"
BEGIN: Final = "<!-- from here on written by python -m bench.faults --publish -->"
END: Final = "<!-- up to here -->"
SEED: Final = 20
CLIENTS: Final = 8
LEASE_SECONDS: Final = 5
BODY_BYTES: Final = 256
QUICK_MESSAGES: Final = 2_000
QUICK_HASTE: Final = 4
"""The factor by which failures come sooner and last shorter in a quick run."""
HASTENED: Final = ("_mttf_seconds", "_mttr_ms", "pause_ms", "full_ms", "fail_sync_ms")
NOTHING_LOST: Final = "nothing lost"
ONLY_NAMED_LOST: Final = "nothing lost without a name"
FAILED: Final = "failed"
NOWHERE: Final = Endpoint("http://127.0.0.1:1")
T = TypeVar("T", bound=msgspec.Struct)
FAULTY: Final = ("lost", "corrupted", "strange", "returned", "doubled", "late")


class Result(msgspec.Struct, frozen=True):
    """The stored result of one cell; `faults` are errors of the service that the checker found."""

    key: str
    date: str
    seed: int
    messages: int
    seconds: float
    send_rate: float
    fired: dict[str, int]
    starts: int
    duplicates: dict[str, int]
    faults: dict[str, int]
    failed: bool
    failure: str | None
    findings: tuple[str, ...]

    def least_fired(self, areas: Sequence[str]) -> int:
        return min(sum(self.fired.get(each, 0) for each in AREAS[area]) for area in areas)


async def measured(cell: Cell, *, quick: bool, seed: int = SEED) -> Result:
    spec = parse_spec(cell.document, cell.key)
    if quick:
        spec = hasty(spec)
    count = QUICK_MESSAGES if quick else MESSAGES
    load = {**cell.load}
    if quick and "send_rate" in load:
        load["send_rate"] = QUICK_MESSAGES / 8
    plan = LoadPlan(
        endpoint=NOWHERE,
        name="faults",
        seed=seed,
        senders=CLIENTS,
        receivers=CLIENTS,
        messages=count // CLIENTS,
        body_bytes=BODY_BYTES,
        lease_seconds=LEASE_SECONDS,
        **load,
    )
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, FaultLog(FaultLogHeader(spec, seed)) as log:
        stage = Stage(Path(folder) / "server", key_of, log, journals=Path(folder) / "journals")
        outcome = await run(spec, Drawn(spec, seed), plan, stage)
    return result_of(cell, outcome, time.monotonic() - begun, seed)


def hasty(spec: FaultSpec) -> FaultSpec:
    return replace(
        spec,
        server=_hastened(spec.server),
        disk=_hastened(spec.disk),
        clock=_hastened(spec.clock),
    )


def _hastened(table: T) -> T:
    names = [name for name in table.__struct_fields__ if name.endswith(HASTENED)]
    values = {name: getattr(table, name) for name in names}
    return replace(
        table, **{name: type(value)(value / QUICK_HASTE) for name, value in values.items()}
    )


def key_of(announced: Announcement) -> AccessKey:
    return read_key(key_path(Path(announced.data)), announced.account)


def result_of(cell: Cell, outcome: FaultRunResult, seconds: float, seed: int) -> Result:
    (repetition,) = outcome.result.repetitions
    report = repetition.report
    return Result(
        key=cell.key,
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        seed=seed,
        messages=report.messages,
        seconds=round(seconds, 1),
        send_rate=repetition.sends.rate,
        fired=dict(outcome.fired),
        starts=outcome.starts,
        duplicates={str(cause): count for cause, count in report.duplicates.items()},
        faults={str(fault): count for fault, count in report.faults.items()},
        failed=outcome.failed,
        failure=outcome.result.failure,
        findings=outcome.findings,
    )


def _head(cell: Cell) -> Row:
    return {
        "fault": cell.name,
        "p": None if cell.p is None else f"{cell.p:g}",
        "MTTF s": cell.mttf_seconds,
    }


def row_of(cell: Cell, result: Result) -> Row:
    return {
        **_head(cell),
        "messages": result.messages,
        "fired": sum(result.fired.values()),
        "least fired": result.least_fired(cell.areas),
        "duplicates": sum(result.duplicates.values()),
        "lost": result.faults["lost"],
        "lost by name": result.faults["named"],
        "verdict": verdict(cell, result),
    }


def verdict(cell: Cell, result: Result) -> str:
    if result.failed:
        wrong = [f"{result.faults[name]} {name}" for name in FAULTY if result.faults[name]]
        return f"{FAILED}: " + ", ".join(wrong or [result.failure or "the store is damaged"])
    if result.least_fired(cell.areas) < FIRED_MIN:
        return f"no result: fired fewer than {FIRED_MIN} times"
    return ONLY_NAMED_LOST if result.faults["named"] else NOTHING_LOST


def kept(path: Path) -> dict[str, Result]:
    lines = path.read_bytes().splitlines() if path.exists() else []
    found = (msgspec.json.decode(line, type=Result) for line in lines)
    return {result.key: result for result in found}


def keep(path: Path, result: Result) -> None:
    with path.open("ab") as file:
        file.write(msgspec.json.encode(result) + b"\n")


def publish(results: Mapping[str, Result]) -> None:
    rows = [
        row_of(cell, results[cell.key]) if cell.key in results else _not_run(cell)
        for cell in cells()
    ]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, behind = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(markdown(rows)) + f"\n\n{END}{behind}")


def _not_run(cell: Cell) -> Row:
    return {**_head(cell), "verdict": "not run"}


def markdown(rows: Sequence[Row]) -> Iterator[str]:
    heads = list(rows[0])
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "|".join("---" if head in ("fault", "verdict") else "--:" for head in heads) + "|"
    for row in rows:
        yield "| " + " | ".join(_cell(row.get(head)) for head in heads) + " |"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


async def run_cells(chosen: Sequence[Cell], path: Path, *, quick: bool) -> list[Row]:
    done = kept(path)
    rows = []
    for cell in chosen:
        if cell.key not in done:
            print(f"{cell.key} …", file=sys.stderr, flush=True)
            done[cell.key] = await measured(cell, quick=quick)
            keep(path, done[cell.key])
        row = row_of(cell, done[cell.key])
        print(json.dumps(row, ensure_ascii=False), file=sys.stderr, flush=True)
        rows.append(row)
    return rows


def main() -> int:
    parser = parser_of("faults", __doc__)
    parser.add_argument("--quick", action="store_true", help="few messages, to see that it works")
    parser.add_argument("--only", metavar="WORD", default="", help="cells whose name begins so")
    parser.add_argument("--results", type=Path, help="file to keep cells in and to go on from")
    parser.add_argument("--publish", action="store_true", help="only write the table of the docs")
    args = parser.parse_args()
    # Signals that end the bench end its server too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = [cell for cell in cells() if cell.key.startswith(args.only)]
    if args.publish:
        publish(kept(args.results or RESULTS))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = args.results or (Path(folder) / "quick.jsonl" if args.quick else RESULTS)
        rows = uvloop.run(run_cells(chosen, path, quick=args.quick))
    show(rows, as_json=args.json)
    fine = [row["verdict"] in (NOTHING_LOST, ONLY_NAMED_LOST) for row in rows]
    # A quick run is too short for rare faults.
    return 1 if any(_failed(row) for row in rows) or not (args.quick or all(fine)) else 0


def _failed(row: Row) -> bool:
    return str(row["verdict"]).startswith(FAILED)


if __name__ == "__main__":
    sys.exit(main())
