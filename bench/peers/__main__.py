"""DoveMQ beside its peers: one load client, the same workloads, medians of interleaved passes.

    python -m bench.peers [--peers dovemq,nats] [--workloads lifecycle] [--passes 5] [--quick]

Servers that are missing are listed as absent; docs/explanation/peers.md tells what is compared.
"""

import sys
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from bench.peers import report
from bench.peers.client import Client
from bench.peers.contestants import CONTESTANTS
from bench.peers.runs import QUICK, Bench, Pace
from bench.peers.workloads import WORKLOADS
from bench.tables import Row, parser_of, show

CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "peers"


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: list[str]) -> None:
    parser = parser_of("peers", __doc__)
    parser.add_argument("--peers", default=",".join(each.name for each in CONTESTANTS))
    parser.add_argument("--workloads", default=",".join(each.name for each in WORKLOADS))
    parser.add_argument("--passes", type=int)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    pace = QUICK if options.quick else Pace()
    if options.passes:
        pace = replace(pace, passes=options.passes)
    bench = Bench(Client.build(CACHE), CACHE, pace, _note)
    chosen = [each for each in CONTESTANTS if each.name in options.peers.split(",")]
    workloads = [each for each in WORKLOADS if each.name in options.workloads.split(",")]
    with bench.entries(chosen) as entries:
        samples = bench.run(entries, workloads)
    medians = report.lines(samples)
    rows: list[Row] = [
        {name: getattr(line, name) for name in line.__struct_fields__} for line in medians
    ]
    show(rows, as_json=options.json)
    for verdict in report.verdicts(medians):
        _note(str(verdict))


if __name__ == "__main__":
    main(sys.argv[1:])
