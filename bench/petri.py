"""The Petri engine: firings a second beside SNAKES, and markings a second of state spaces.

    python -m bench.petri [--install] [--quick] [--json]

Both engines run the VMA tandem (λ = 30.3, μ = 10, 5 + 5 threads, q = .88) as the same coloured net
with the same clock loop; the mean delivery time beside the speed shows that they do the same. The
VMA net of the paper, with its lists, is run without and with its 26 monitors. `--install` fetches
SNAKES into the environment that runs this. Times are CPU seconds of one core; each is the best of
the rounds.
"""

import functools
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from typing import Final, TypeVar

from bench import nets, snakes_peer
from bench.tables import Row, parser_of, show
from dovemq.models.petri import Collector, Laboratory, Net, state_space
from dovemq.models.petri.vma import VmaParameters, vma_monitors, vma_net

SNAKES: Final = "snakes==0.9.33"
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
    rows: list[Row] = [
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
    if find_spec("snakes") is not None:
        spent, (fired, mean) = timed(lambda: snakes_peer.run(*TANDEM, peer_seconds, SEED), 1)
        version = metadata.version("snakes")
        theirs = fired / spent
        rows.append(
            {
                "engine": f"snakes {version}",
                "net": "tandem",
                "firings": fired,
                "cpu_seconds": spent,
                "firings_per_second": theirs,
                "delivery_s": mean,
                "times_snakes": 1.0,
            }
        )
        rows[0] = {**rows[0], "times_snakes": ours / theirs}
    return [*rows, *_vma_rows(seconds)]


def _vma_rows(seconds: float) -> list[Row]:
    """The cost of all monitors, apart."""
    given = VmaParameters(reliability=0.88)
    stop_ms = round(seconds * 1_000)
    rows: list[Row] = []
    for name, monitors in (("no monitors", ()), ("26 monitors", vma_monitors(given, stop_ms))):
        laboratory = Laboratory(vma_net(given), monitors)
        spent, run = timed(functools.partial(laboratory.run, SEED, until=stop_ms))
        figure = run.figures.get("Msg_Delivery_Latency")
        mean = figure.mean if figure is not None else None
        rows.append(
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
    return rows


def space_rows(quick: bool) -> list[Row]:
    chosen: list[tuple[str, Net]] = [
        ("P/T", nets.kanban(3 if quick else 4)),
        ("P/T", nets.fms(3 if quick else 4)),
        ("P/T", nets.philosophers(9 if quick else 14)),
        ("coloured", nets.coloured_philosophers(9 if quick else 14)),
        ("coloured", nets.simple_protocol(6, 2) if quick else nets.simple_protocol(8, 4)),
        ("coloured", nets.alternating_bit(6 if quick else 60)),
    ]
    rows: list[Row] = []
    for kind, net in chosen:
        spent, space = timed(functools.partial(state_space, net), 1)
        rows.append(
            {
                "net": net.name,
                "kind": kind,
                "markings": space.markings,
                "firings": space.edges,
                "complete": space.complete,
                "cpu_seconds": spent,
                "markings_per_second": space.markings / spent,
            }
        )
    return rows


def main() -> None:
    parser = parser_of("petri", __doc__)
    parser.add_argument("--install", action="store_true", help=f"install {SNAKES} first")
    parser.add_argument("--quick", action="store_true", help="a smaller run")
    args = parser.parse_args()
    if args.install:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", SNAKES], check=True)
    rows = firing_rows(*((200.0, 5.0) if args.quick else (2_000.0, 60.0)))
    if args.json:
        show([*rows, *space_rows(args.quick)], as_json=True)
        return
    show(rows, as_json=False)
    print()
    show(space_rows(args.quick), as_json=False)


if __name__ == "__main__":
    main()
