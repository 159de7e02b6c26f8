"""Three front ends over each real store under each fault: the checker accounts for every message.

    python -m bench.shared_faults [--store NAME] [--fault WORD] [--runs 5] [--dense] [--publish]

A run takes half a minute to two minutes and is written when it ends; an interrupted bench continues
where it stopped. `--publish` runs nothing: it writes the existing results into the docs.

`--dense` sends as fast as it can from many senders, so that many writes are under way when a fault
strikes: this shows how much a fail-over of Redis loses. Use a results file of its own for it.
"""

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from bench.shared_faults.front_ends import FrontEnds
from bench.shared_faults.injecting import FAULTS, Fault, Scene
from bench.shared_faults.report import publish, rows_of
from bench.shared_faults.runs import OWNED, LoadSize, RunAccount, run_once
from bench.tables import parser_of, show
from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_cluster import LocalCluster
from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_redis import LocalRedisCluster

RESULTS: Final = Path(__file__).with_name("results.jsonl")
RUNS: Final = 5
DENSE: Final = LoadSize(senders=16, receivers=2, pause_ms=0)
STORES: Final[Mapping[str, tuple[Callable[[Path], LocalCluster], str]]] = {
    "postgresql": (LocalPostgres, ""),
    "redis": (LocalRedisCluster, ""),
    "redis wait=1": (LocalRedisCluster, "?wait=1"),
    "cassandra quorum": (LocalCassandra, "&consistency=quorum"),
    "cassandra quorum, none": (LocalCassandra, "&consistency=quorum"),
    "cassandra quorum, serial": (LocalCassandra, "&consistency=quorum"),
    "cassandra one, none": (LocalCassandra, "&consistency=one"),
}
"""How each store is started, and what is added to its URL; after a comma the coordination."""


def kept(path: Path) -> list[RunAccount]:
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [msgspec.json.decode(line, type=RunAccount) for line in lines]


def keep(path: Path, account: RunAccount) -> None:
    with path.open("ab") as file:
        file.write(msgspec.json.encode(account) + b"\n")


async def run_store(
    name: str, faults: Sequence[Fault], runs: int, results: Path, place: Path, size: LoadSize
) -> None:
    """Runs what is missing; store and front ends go on from one run to the next."""
    done = {(each.fault, each.number) for each in kept(results) if each.store == name}
    wanted = [
        (fault, number)
        for number in range(runs)
        for fault in faults
        if (fault.name, number) not in done
    ]
    if not wanted:
        return
    kind, suffix = STORES[name]
    coordination = name.partition(", ")[2] or OWNED
    size = msgspec.structs.replace(size, coordination=coordination)
    with kind(place / "store") as store:
        async with FrontEnds(place, store.url + suffix) as front_ends:
            for fault, number in wanted:
                scene = Scene(store, front_ends, number)
                folder = place / f"{fault.name.replace(' ', '-')}-{number}"
                account = await run_once(name, fault, scene, folder, size)
                keep(results, account)
                _tell(account)


def _tell(account: RunAccount) -> None:
    verdict = account.wrong or account.failure or "fine"
    line = (
        f"{account.store}, {account.fault}, run {account.number}: {verdict}, "
        f"{account.messages} messages, gap {account.gap_ms} ms, {account.seconds:.0f} s, "
        f"{dict(account.failures)}"
    )
    print(line, file=sys.stderr, flush=True)
    for text in (*account.culprits, *account.tracebacks):
        print(f"    {text}", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = parser_of("shared_faults", __doc__)
    parser.add_argument("--store", choices=STORES, help="only this store")
    parser.add_argument("--fault", metavar="WORD", default="", help="faults with this in the name")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each fault")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file to keep runs in")
    parser.add_argument("--data", type=Path, help="directory for stores, logs and journals")
    parser.add_argument("--dense", action="store_true", help="many senders without pauses")
    parser.add_argument("--publish", action="store_true", help="only write the table of the docs")
    return parser.parse_args()


def main() -> int:
    args = _arguments()
    # Signals that end the bench end what it has started; a shell may have made it ignore them.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    if args.publish:
        publish(kept(args.results))
        return 0
    faults = [fault for name, fault in FAULTS.items() if args.fault in name]
    size = DENSE if args.dense else LoadSize()
    with tempfile.TemporaryDirectory() as folder:
        for name in [args.store] if args.store else STORES:
            place = (args.data or Path(folder)) / name.replace(" ", "-")
            uvloop.run(run_store(name, faults, args.runs, args.results, place, size))
    accounts = [each for each in kept(args.results) if args.store in (None, each.store)]
    show(rows_of(accounts), as_json=args.json)
    return 1 if any(each.failure or _lost(each) for each in accounts) else 0


def _lost(account: RunAccount) -> bool:
    """Redis may lose what its replicas did not have yet; its loss is measured, not judged."""
    return bool(account.wrong) and not account.store.startswith("redis")


if __name__ == "__main__":
    sys.exit(main())
