"""The cost of the consistency kernels: seconds of CPU for a number of events, on one core.

    python -m bench.kernels [--events 10000000] [--batch 1000000] [--plain] [--json]

An event is one receive; as many sends come first. The streams differ in how far messages
stray from their place, and in whether something is missing, which keeps all that follows open.
"""

import time
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.tables import Row, parser_of, show
from dovemq.models.consistency import ConsistencyTally
from dovemq.models.consistency.patience import Extend, best_extend, extend_plain

SEED: Final = 5
STREAMS_MANY: Final = 3_000
DUPLICATES_SHARE: Final = 0.01

Numbers = NDArray[np.int64]
Shape = Callable[[np.random.Generator, int], Numbers]


def in_order(rng: np.random.Generator, count: int) -> Numbers:
    return np.arange(1, count + 1)


def strayed(rng: np.random.Generator, count: int) -> Numbers:
    """Each message is up to some hundred places from its own; 1 % come twice."""
    seqs = in_order(rng, count)
    twice = rng.choice(seqs, int(count * DUPLICATES_SHARE))
    kept = seqs[: count - len(twice)]
    everything = np.concatenate((kept, twice))
    noise: Numbers = np.argsort(everything + rng.normal(0, 100, count), kind="stable")
    return everything[noise]


def headless(rng: np.random.Generator, count: int) -> Numbers:
    """Like `strayed`, but the first message never comes."""
    return strayed(rng, count) + 1


def shuffled(rng: np.random.Generator, count: int) -> Numbers:
    return rng.permutation(count) + 1


SHAPES: Final[dict[str, tuple[Shape, int]]] = {
    "in order": (in_order, 1),
    "strayed": (strayed, 1),
    "strayed, many streams": (strayed, STREAMS_MANY),
    "strayed, first missing": (headless, 1),
    "shuffled": (shuffled, 1),
}


def measured(name: str, events: int, batch: int, extend: Extend) -> Row:
    shape, streams = SHAPES[name]
    seqs = shape(np.random.default_rng(SEED), events // streams)
    names = np.tile(np.arange(streams), len(seqs))
    received = np.repeat(seqs, streams)
    sent = np.sort(received)
    tally = ConsistencyTally(extend=extend)
    started = time.process_time()
    for start in range(0, len(received), batch):
        part = slice(start, start + batch)
        tally.sent(names[part], sent[part])
        tally.received(names[part], received[part])
    found = tally.result()
    return {
        "shape": name,
        "events": len(received),
        "streams": streams,
        "cpu_seconds": time.process_time() - started,
        **{metric: round(rate, 6) for metric, rate in found.rates.items()},
    }


def main() -> None:
    parser = parser_of("kernels", __doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--batch", type=int, default=1_000_000)
    parser.add_argument("--plain", action="store_true", help="as without numba")
    args = parser.parse_args()
    extend = extend_plain if args.plain else best_extend()
    rows = [measured(name, args.events, args.batch, extend) for name in SHAPES]
    show(rows, as_json=args.json)


if __name__ == "__main__":
    main()
