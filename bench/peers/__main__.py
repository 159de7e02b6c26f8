"""DoveMQ beside its peers: one load client, the same workloads, medians of interleaved passes.

    python -m bench.peers [--peers dovemq,nats] [--workloads lifecycle] [--passes 5] [--quick]
                          [--install] [--publish] [--json]

Prints the tables and the verdicts as Markdown; progress goes to standard error. A server that is
not installed is listed as absent; --install gets the missing ones. docs/explanation/peers.md
explains the comparison.
"""

import argparse
import datetime
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from bench.path import commit
from bench.peers import pages, report
from bench.peers.client import Client, NoClient
from bench.peers.contestants import CONTESTANTS, Contestant
from bench.peers.installing import RECIPES, NotInstalled, install, missing
from bench.peers.runs import QUICK, Bench, Pace
from bench.peers.workloads import DRAIN_DEEP, DRAIN_SHALLOW, WORKLOADS, Workload
from bench.tables import parser_of

CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "peers"

T = TypeVar("T", Contestant, Workload)


class Progress:
    """Lines on standard error, each with the time since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def __call__(self, text: str) -> None:
        print(f"{self.seconds:7.1f} s  {text}", file=sys.stderr, flush=True)


def chosen(text: str | None, known: Sequence[T]) -> list[T]:
    if text is None:
        return list(known)
    wanted = text.split(",")
    if unknown := set(wanted) - {each.name for each in known}:
        names = ", ".join(each.name for each in known)
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; there are {names}")
    return [each for each in known if each.name in wanted]


def chosen_workloads(text: str | None) -> list[Workload]:
    found = chosen(text, WORKLOADS)
    names = {each.name for each in found}
    # How deep a drain goes is sized by the shallow one.
    if DRAIN_DEEP in names and DRAIN_SHALLOW not in names:
        raise SystemExit(f"{DRAIN_DEEP} needs {DRAIN_SHALLOW} beside it")
    return found


def available(
    contestants: Sequence[Contestant], absent: dict[str, str], *, fetch: bool, note: Progress
) -> list[Contestant]:
    """Contestants whose program is installed; the others go into `absent` with the reason."""
    found = []
    for each in contestants:
        reason = missing(RECIPES[each.name], CACHE)
        if reason and fetch:
            note(f"installing {each.title}")
            try:
                install(RECIPES[each.name], CACHE)
                reason = None
            except NotInstalled as error:
                reason = str(error)
        if reason:
            note(f"absent: {each.title}: {reason}")
            absent[each.name] = reason
        else:
            found.append(each)
    return found


def memory_gib() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def run(options: argparse.Namespace, client: Client, note: Progress) -> pages.Outcome:
    pace = QUICK if options.quick else Pace()
    if options.passes:
        pace = replace(pace, passes=options.passes)
    bench = Bench(client, CACHE, pace, note)
    wanted = available(
        chosen(options.peers, CONTESTANTS), bench.absent, fetch=options.install, note=note
    )
    workloads = chosen_workloads(options.workloads)
    with bench.entries(wanted) as entries:
        samples = bench.run(entries, workloads)
        note("stopping")
    medians = report.lines(samples)
    setting = pages.Setting(
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        commit=commit(),
        cores=os.cpu_count() or 0,
        memory_gib=memory_gib(),
        minutes=note.seconds / 60,
        passes=pace.passes,
        quick=options.quick,
        versions={each.contestant.name: _version(each.contestant) for each in entries},
    )
    failed = {
        f"{entry.contestant.name} {workload}": reason
        for entry in entries
        for workload, reason in entry.failed.items()
    }
    verdicts = report.verdicts(medians)
    return pages.Outcome(setting, samples, medians, verdicts, bench.absent, failed)


def _version(contestant: Contestant) -> str:
    return RECIPES[contestant.name].version()


def main(arguments: list[str]) -> None:
    parser = parser_of("peers", __doc__)
    parser.add_argument("--peers", metavar="A,B", help="only these")
    parser.add_argument("--workloads", metavar="A,B", help="only these")
    parser.add_argument("--passes", type=int, metavar="N")
    parser.add_argument("--quick", action="store_true", help="one pass of short measurements")
    parser.add_argument("--install", action="store_true", help="get the servers that are missing")
    parser.add_argument(
        "--publish", action="store_true", help="write results.csv and the page of the docs"
    )
    options = parser.parse_args(arguments)
    note = Progress()
    # Raised like an error, so that the servers are ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        client = Client.build(CACHE)
    except NoClient as error:
        raise SystemExit(str(error)) from None
    outcome = run(options, client, note)
    if options.publish:
        pages.publish(outcome)
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(outcome)).decode())
    else:
        print(pages.markdown(outcome))
    for verdict in outcome.verdicts:
        note(str(verdict))


if __name__ == "__main__":
    main(sys.argv[1:])
