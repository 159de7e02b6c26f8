"""The server's cost of `dovemq load`, compared with that of the load client of the peers.

    python -m bench.load_agrees [--rounds 5] [--messages 16000] [--json]

The lifecycle workload of bench.peers on one server: 8 connections send 1 KB messages one by one,
8 receive and delete ten at a time. The Go client, `dovemq load run --plain`, which asks for the
same, and `dovemq load run` as it is by default, take turns; medians over the rounds. `ratio` is
between medians, `by_round` the median of the ratios of each round: on a machine that others use
they differ, though a run is repeated if other machines on the same hardware took more than 1 % of
the time. Ends with 1 unless the ratio of the plain load is within 10 %, and the load's
own CPU is at most the server's.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.peers.__main__ import CACHE
from bench.peers.client import Client, NoClient, Task
from bench.peers.processes import Running
from bench.peers.starting import dovemq
from bench.peers.workloads import CONNECTIONS, LIFECYCLE, WORKLOADS
from bench.tables import Row, parser_of, show
from bench.undisturbed import Undisturbed

RATIO_MAX: Final = 1.1
WARM_UP_SHARE: Final = 4
LEASE_SECONDS: Final = 300
WAIT_SECONDS: Final = 20
"""Lease and wait of the Go client."""
GO: Final = "bench.peers"
PLAIN: Final = "load run --plain"
DEFAULT: Final = "load run"


class Cost(msgspec.Struct, frozen=True):
    """CPU in milliseconds per 1,000 messages."""

    server_ms: float
    own_ms: float
    rate: float


def by_go(client: Client, running: Running, queue: str, messages: int) -> Cost:
    workload = next(each for each in WORKLOADS if each.name == LIFECYCLE)
    measured = client.run(running, "sqs", Task(workload, queue, messages, 0))
    return Cost(measured.cpu_ms, measured.client_cpu_ms, measured.rate)


def by_load(running: Running, messages: int, *options: str) -> Cost:
    command: list[str] = [sys.executable, "-m", "dovemq", "load", "run", "--json", *options]
    command += ["--endpoint-url", f"http://{running.address}", "--region", running.access.region]
    command += ["--server-pid", str(running.pid), "--messages", str(messages // CONNECTIONS)]
    command += ["--senders", str(CONNECTIONS), "--receivers", str(CONNECTIONS)]
    command += ["--lease", str(LEASE_SECONDS), "--wait", str(WAIT_SECONDS)]
    keys = {
        "AWS_ACCESS_KEY_ID": running.access.key_id,
        "AWS_SECRET_ACCESS_KEY": running.access.secret,
    }
    done = subprocess.run(
        command, env={**os.environ, **keys}, stdout=subprocess.PIPE, text=True, check=True
    )
    figures: dict[str, Any] = msgspec.json.decode(done.stdout)["figures"]
    medians = {name: float(figure["median"]) for name, figure in figures.items()}
    return Cost(medians["server CPU"], medians["own CPU"], medians["receive+delete rate"])


def measure(client: Client, running: Running, rounds: int, messages: int) -> list[Row]:
    costs: dict[str, list[Cost]] = {GO: [], PLAIN: [], DEFAULT: []}
    for number in range(rounds + 1):
        # The first round warms up.
        count = messages if number else messages // WARM_UP_SHARE
        found = {}
        for attempt in Undisturbed():
            found[GO] = by_go(client, running, f"agrees-{number}-{attempt}", count)
        for _ in Undisturbed():
            found[PLAIN] = by_load(running, count, "--plain")
        for _ in Undisturbed():
            found[DEFAULT] = by_load(running, count)
        for name, cost in found.items() if number else ():
            costs[name].append(cost)
            print(f"round {number}: {name}: {cost}", file=sys.stderr, flush=True)
    return [_row(name, of, costs[GO]) for name, of in costs.items()]


def _row(name: str, costs: list[Cost], reference: list[Cost]) -> Row:
    server_ms = statistics.median(cost.server_ms for cost in costs)
    reference_ms = statistics.median(cost.server_ms for cost in reference)
    by_round = [
        ours.server_ms / theirs.server_ms for ours, theirs in zip(costs, reference, strict=True)
    ]
    own = [cost.own_ms / cost.server_ms for cost in costs]
    return {
        "client": name,
        "server_ms": round(server_ms, 1),
        "ratio": round(server_ms / reference_ms, 3),
        "by_round": round(statistics.median(by_round), 3),
        "own_ms": round(statistics.median(cost.own_ms for cost in costs), 1),
        "own_per_server": round(statistics.median(own), 3),
        "rate": round(statistics.median(cost.rate for cost in costs)),
    }


def agrees(rows: list[Row]) -> bool:
    (plain,) = (row for row in rows if row["client"] == PLAIN)
    ratio, own = plain["ratio"], plain["own_per_server"]
    assert isinstance(ratio, float)
    assert isinstance(own, float)
    return 1 / RATIO_MAX <= ratio <= RATIO_MAX and own <= 1


def main(arguments: list[str]) -> None:
    parser = parser_of("load_agrees", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=16_000)
    options = parser.parse_args(arguments)
    try:
        client = Client.build(CACHE)
    except NoClient as error:
        raise SystemExit(str(error)) from None
    with tempfile.TemporaryDirectory() as directory:
        running = dovemq(CACHE, Path(directory))
        try:
            rows = measure(client, running, options.rounds, options.messages)
        finally:
            running.stop()
    show(rows, as_json=options.json)
    if not agrees(rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
