"""The cost of the models beside that of other simulators: one table per section, from one run.

    python -m bench.models [--sections vma,network] [--quick] [--install] [--json]

An event is the production or arrival, the service start or the service end of one message, counted
alike everywhere. Times are seconds of CPU of one core, the best of interleaved passes; numba has
compiled before. A simulator that is not installed is left out; --install gets it into the cache.
Sections of other benches (planning, petri, statespaces) are shown if they have `rows`.
"""

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bench.models import networks, tandem
from bench.models.simulators import install
from bench.tables import Row, parser_of, show

Section = Callable[[bool], Sequence[Row]]

SECTIONS: Final[Mapping[str, Section]] = {
    "vma": tandem.beside_others,
    "fig11": tandem.figure,
    "linear": tandem.by_events,
    "network": networks.beside_others,
}
OTHERS: Final = ("planning", "petri", "statespaces")
"""Benches that have a function `rows(quick)`."""


def sections() -> dict[str, Section]:
    found = dict(SECTIONS)
    for name in OTHERS:
        if importlib.util.find_spec(f"bench.{name}") is not None:
            rows = getattr(importlib.import_module(f"bench.{name}"), "rows", None)
            if rows is not None:
                found[name] = rows
    return found


def main() -> None:
    known = sections()
    parser = parser_of("models", __doc__)
    parser.add_argument("--sections", default=",".join(known), help="a list with commas")
    parser.add_argument("--quick", action="store_true", help="shorter runs, wider intervals")
    parser.add_argument(
        "--install", action="store_true", help="get the other simulators into the cache"
    )
    args = parser.parse_args()
    if unknown := set(args.sections.split(",")) - known.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if args.install:
        install()
    found = {name: known[name](args.quick) for name in args.sections.split(",")}
    if args.json:
        print(json.dumps({name: list(rows) for name, rows in found.items()}, indent=2))
        return
    for name, rows in found.items():
        print(f"\n{name}")
        show(rows, as_json=False)


if __name__ == "__main__":
    main()
