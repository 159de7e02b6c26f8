"""State spaces of classical nets: markings a second.

    python -m bench.statespaces [--quick] [--json]

Times are seconds of CPU of one core and include the compilation of the net.
"""

import functools

from bench import nets
from bench.petri import timed
from bench.tables import Row, parser_of, show
from dovemq.models.petri import Net, state_space


def rows(quick: bool) -> list[Row]:
    chosen: list[tuple[str, Net]] = [
        ("P/T", nets.kanban(3 if quick else 4)),
        ("P/T", nets.fms(3 if quick else 4)),
        ("P/T", nets.philosophers(9 if quick else 14)),
        ("coloured", nets.coloured_philosophers(9 if quick else 14)),
        ("coloured", nets.simple_protocol(6, 2) if quick else nets.simple_protocol(8, 4)),
        ("coloured", nets.alternating_bit(6 if quick else 60)),
    ]
    found: list[Row] = []
    for kind, net in chosen:
        spent, space = timed(functools.partial(state_space, net), 1)
        found.append(
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
    return found


def main() -> None:
    parser = parser_of("statespaces", __doc__)
    parser.add_argument("--quick", action="store_true", help="smaller nets")
    args = parser.parse_args()
    show(rows(args.quick), as_json=args.json)


if __name__ == "__main__":
    main()
