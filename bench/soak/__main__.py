"""The whole service under all faults in turn, for half an hour: what is lost, and what grows.

    python -m bench.soak [--store embedded|cassandra] [--minutes 30] [--json] [--out DIR]

Real servers, clients of standard and FIFO queues and of queues that size themselves, and workers
with jobs run the whole time. Each kind of fault has a turn, with a quiet spell after it. At the end
the checker accounts for every message, every job must have ended once, and the memory and
descriptors of processes that lived for the whole run must not have grown.

`embedded` is two servers, of which one is never killed. `cassandra` is three front ends on three
nodes of Cassandra on this machine (4 GB); the first front end is never killed. Exits with 1 if a
claim does not hold. `--out` keeps logs, journals, samples, pictures and verdicts.
"""

import argparse
import datetime
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from bench.soak.embedded import FAULTS as EMBEDDED_FAULTS
from bench.soak.embedded import EmbeddedStage
from bench.soak.report import counts, figure_of
from bench.soak.running import SoakAccount, SoakLength, soak
from bench.soak.shared import FAULTS as SHARED_FAULTS
from bench.soak.shared import SharedStage
from bench.soak.stage import SoakStage, StageOptions, Stopwatch
from bench.tables import Row, parser_of, show
from dovemq.experiments.figure import Figure
from dovemq.experiments.publishing import publish
from dovemq.experiments.results import VERDICT_WORDS

SEED: Final = 26
LENGTHS: Final[Mapping[str, SoakLength]] = {
    "embedded": SoakLength(0, turn_s=25, quiet_s=15, pause_ms=150, job_rate=1.0),
    "cassandra": SoakLength(0, turn_s=35, quiet_s=25, pause_ms=250, job_rate=0.5),
}
"""Without the seconds, which an option gives."""
Starting = Callable[[StageOptions], AbstractAsyncContextManager[SoakStage]]
STAGES: Final[Mapping[str, tuple[Starting, tuple[str, ...]]]] = {
    "embedded": (EmbeddedStage.started, EMBEDDED_FAULTS),
    "cassandra": (SharedStage.started, SHARED_FAULTS),
}


async def run_soak(
    store: str, length: SoakLength, place: Path, tell: Callable[[str], None], seed: int = SEED
) -> SoakAccount:
    started, faults = STAGES[store]
    place.mkdir(parents=True, exist_ok=True)
    options = StageOptions(place, length.schedule(faults), Stopwatch(), seed)
    return await soak(started(options), length, options, tell)


def _arguments() -> argparse.Namespace:
    parser = parser_of("soak", __doc__)
    parser.add_argument("--store", choices=STAGES, default="embedded")
    parser.add_argument("--minutes", type=float, default=30.0, help="time of load and faults")
    parser.add_argument("--out", type=Path, metavar="DIR", help="new directory for everything")
    parser.add_argument("--seed", type=int, default=SEED, help="random seed")
    text = "run nothing: judge an account that an earlier soak has kept"
    parser.add_argument("--account", type=Path, metavar="FILE", help=text)
    return parser.parse_args()


def _tell(line: str) -> None:
    now = datetime.datetime.now(datetime.UTC)
    print(f"{now:%H:%M:%S} {line}", file=sys.stderr, flush=True)


def main() -> int:
    args = _arguments()
    # Signals that end the bench end what it has started; a shell may have made it ignore them.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    account = _account(args)
    figure = figure_of(account)
    if args.out:
        publish(f"soak-{account.store}", figure, args.out)
    show(list(_rows(account, figure)), as_json=args.json)
    for service in account.services:
        for culprit in service.messages.culprits:
            print(culprit, file=sys.stderr)
    return int(any(each.holds is False for each in figure.verdicts))


def _account(args: argparse.Namespace) -> SoakAccount:
    """Runs a soak, or reads the account of an earlier one."""
    if args.account:
        return msgspec.json.decode(args.account.read_bytes(), type=SoakAccount)
    length = msgspec.structs.replace(LENGTHS[args.store], seconds=60 * args.minutes)
    with tempfile.TemporaryDirectory() as folder:
        place = (args.out or Path(folder)) / "run"
        account = uvloop.run(run_soak(args.store, length, place, _tell, args.seed))
    if args.out:
        (args.out / "account.json").write_bytes(msgspec.json.encode(account))
    return account


def _rows(account: SoakAccount, figure: Figure) -> Iterator[Row]:
    for name, value in counts(account).items():
        yield {"what": name, "found": str(value)}
    for each in figure.verdicts:
        yield {"what": each.claim, "found": f"{VERDICT_WORDS[each.holds]}: {each.found}"}


if __name__ == "__main__":
    sys.exit(main())
