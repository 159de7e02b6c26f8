"""The Petri engine: firings a second, beside SNAKES.

    python -m bench.petri [--install] [--quick] [--json]

Both engines run the VMA tandem (λ = 30.3, μ = 10, 5 + 5 threads, q = .88) as the same coloured net
with the same clock loop; equal mean delivery times show that they do the same. The VMA
net of the paper, with its lists, is run without and with its 26 monitors. Times are seconds of
CPU of one core, ours the best of the rounds. Without SNAKES its row is left out.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from bench import nets, snakes_peer
from bench.models.simulators import VERSIONS, install, module
from bench.tables import Row, parser_of, show
from dovemq.models.petri import Collector, Laboratory
from dovemq.models.petri.vma import vma_monitors, vma_net
from dovemq.models.vma.parameters import PAPER

TANDEM: Final = (30.3, 10.0, 5, 0.88)
ROUNDS: Final = 3
SEED: Final = 6

Result = TypeVar("Result")


def timed(work: Callable[[], Result], rounds: int = ROUNDS) -> tuple[float, Result]:
    best, result = float("inf"), None
    for _ in range(rounds):
        started = time.process_time()
        result = work()
        best = min(best, time.process_time() - started)
    assert result is not None
    return best, result


def firing_rows(seconds: float, peer_seconds: float) -> list[Row]:
    latency = Collector("latency", "Deliver", "now - at")
    laboratory = Laboratory(nets.tandem(*TANDEM), [latency])
    spent, run = timed(lambda: laboratory.run(SEED, until=seconds))
    ours = run.ending.steps / spent
    found: list[Row] = [
        {
            "engine": "dovemq",
            "net": "tandem",
            "firings": run.ending.steps,
            "cpu_seconds": spent,
            "firings_per_second": ours,
            "delivery_s": run.figures["latency"].mean,
            "times_snakes": None,
        }
    ]
    if module("snakes") is not None:
        spent, (fired, mean) = timed(lambda: snakes_peer.run(*TANDEM, peer_seconds, SEED), 1)
        theirs = fired / spent
        found.append(
            {
                "engine": f"snakes {VERSIONS['snakes']}",
                "net": "tandem",
                "firings": fired,
                "cpu_seconds": spent,
                "firings_per_second": theirs,
                "delivery_s": mean,
                "times_snakes": 1.0,
            }
        )
        found[0] = {**found[0], "times_snakes": ours / theirs}
    return [*found, *_vma_rows(seconds)]


def _vma_rows(seconds: float) -> list[Row]:
    """Rows without and with all monitors."""
    given = replace(PAPER, reliability=0.88)
    stop_ms = round(seconds * 1_000)
    found: list[Row] = []
    for name, monitors in (("no monitors", ()), ("26 monitors", vma_monitors(given, stop_ms))):
        laboratory = Laboratory(vma_net(given), monitors)
        spent, run = timed(functools.partial(laboratory.run, SEED, until=stop_ms))
        figure = run.figures.get("Msg_Delivery_Latency")
        mean = figure.mean if figure is not None else None
        found.append(
            {
                "engine": "dovemq",
                "net": f"VMA, {name}",
                "firings": run.ending.steps,
                "cpu_seconds": spent,
                "firings_per_second": run.ending.steps / spent,
                "delivery_s": None if mean is None else mean / 1_000,
                "times_snakes": None,
            }
        )
    return found


def rows(quick: bool) -> list[Row]:
    return firing_rows(200.0, 5.0) if quick else firing_rows(2_000.0, 60.0)


def main() -> None:
    parser = parser_of("petri", __doc__)
    parser.add_argument("--install", action="store_true", help="get SNAKES into the cache")
    parser.add_argument("--quick", action="store_true", help="a smaller run")
    args = parser.parse_args()
    if args.install:
        install()
    show(rows(args.quick), as_json=args.json)


if __name__ == "__main__":
    main()
