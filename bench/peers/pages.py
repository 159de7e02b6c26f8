"""The tables of docs/explanation/peers.md and the raw rows of results.csv."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.peers.contestants import CONTESTANTS, Contestant
from bench.peers.report import Line, Verdict
from bench.peers.runs import Sample
from bench.peers.workloads import DRAIN_DEEP, DRAIN_SHALLOW, WAKE, WORKLOADS, Workload

HERE: Final = Path(__file__).resolve().parent
RESULTS: Final = HERE / "results.csv"
PAGE: Final = HERE.parents[1] / "docs" / "explanation" / "peers.md"
BEGIN: Final = "<!-- from here on written by python -m bench.peers --publish -->"
END: Final = "<!-- up to here -->"


_QUICK: Final = (
    " It was a quick run, whose messages are few and whose servers are hardly warm: it shows that "
    "the bench works, and no more."
)


class Setting(Struct, frozen=True):
    """Date and machine of a run."""

    date: str
    commit: str
    cores: int
    memory_gib: int
    minutes: float
    passes: int
    quick: bool
    versions: Mapping[str, str]


class Outcome(Struct, frozen=True):
    setting: Setting
    samples: Sequence[Sample]
    lines: Sequence[Line]
    verdicts: Sequence[Verdict]
    absent: Mapping[str, str]
    failed: Mapping[str, str]
    """`contestant workload` to the reason."""


def publish(outcome: Outcome) -> None:
    write_results(outcome, RESULTS)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, behind = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{markdown(outcome)}\n{END}{behind}")


def write_results(outcome: Outcome, path: Path) -> None:
    setting = outcome.setting
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, sample in enumerate(outcome.samples):
            measured = sample.measured
            fields = measured.__struct_fields__
            if number == 0:
                names = ("date", "commit", "pass", "contestant", "version", "workload")
                writer.writerow([*names, *fields])
            version = setting.versions[sample.contestant]
            head = (setting.date, setting.commit, sample.number, sample.contestant, version)
            values = [_raw(getattr(measured, name)) for name in fields]
            writer.writerow([*head, sample.workload, *values])


def _raw(value: float | bool) -> object:
    return round(value, 4) if isinstance(value, float) else value


def markdown(outcome: Outcome) -> str:
    setting = outcome.setting
    parts = [
        f"Run of {setting.date} at commit {setting.commit}, {setting.passes} passes in "
        f"{setting.minutes:.0f} minutes on {setting.cores} cores and {setting.memory_gib} GiB."
        + (_QUICK if setting.quick else ""),
        "### Verdicts",
        "\n".join(f"- {verdict}" for verdict in outcome.verdicts),
        "### Contestants",
        _contestants(outcome),
        *(part for workload in WORKLOADS for part in _workload(outcome, workload)),
    ]
    return "\n\n".join(parts) + "\n"


def _contestants(outcome: Outcome) -> str:
    rows = []
    for each in CONTESTANTS:
        if (reason := outcome.absent.get(each.name)) is not None:
            rows.append([each.title, "absent", reason.splitlines()[0], "", ""])
        elif (version := outcome.setting.versions.get(each.name)) is not None:
            rows.append([each.title, version, each.durable, each.sync, each.signed])
    return _table(["peer", "version", "durable", "synced", "signatures"], rows)


def _workload(outcome: Outcome, workload: Workload) -> list[str]:
    found = {line.contestant: line for line in outcome.lines if line.workload == workload.name}
    names = [*_COLUMNS, *_EXTRA.get(workload.name, ())]
    rows = []
    for each in CONTESTANTS:
        if (line := found.get(each.name)) is not None:
            rows.append([each.title, *(_cell(name, line, each) for name in names)])
        elif reason := outcome.failed.get(f"{each.name} {workload.name}"):
            rows.append([each.title, f"failed: {reason.splitlines()[0]}", *[""] * (len(names) - 1)])
    if not rows:
        return []
    return [
        f"### {workload.title}",
        f"p50 and p99: {workload.timed}.",
        _table(["peer", *names], rows),
    ]


_COLUMNS: Final = (
    "messages/s",
    "server CPU, ms per 1,000",
    "p50, ms",
    "p99, ms",
    "memory, MiB",
    "durable",
    "messages",
    "client CPU, ms per 1,000",
    "duplicates",
    "not deleted",
)
_EXTRA: Final = {
    WAKE: ("ordinary receive p50, ms", "from the send's start p50, ms"),
    DRAIN_SHALLOW: ("backlog",),
    DRAIN_DEEP: ("backlog",),
}


def _cell(column: str, line: Line, contestant: Contestant) -> str:
    texts = {
        "messages/s": f"{line.rate:,.0f}",
        "server CPU, ms per 1,000": f"{line.cpu_ms:,.0f}",
        "client CPU, ms per 1,000": f"{line.client_cpu_ms:,.0f}",
        "p50, ms": f"{line.p50_ms:.2f}",
        "p99, ms": f"{line.p99_ms:.2f}",
        "memory, MiB": f"{line.memory_mib:,.0f}",
        "durable": contestant.durable,
        "messages": f"{line.messages:,}" + (" (cut)" if line.cut else ""),
        "duplicates": f"{line.duplicates:,}",
        "not deleted": f"{line.missing:,}",
        "ordinary receive p50, ms": f"{line.receive_p50_ms:.2f}",
        "from the send's start p50, ms": f"{line.from_send_start_p50_ms:.2f}",
        "backlog": f"{line.backlog:,}",
    }
    return texts[column]


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
