"""Random P/T nets with inhibitor arcs, reset arcs and capacities, and their own token game.

The token game knows nothing of the engine: it follows the definitions on plain tuples.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.models.petri import oracles

Marking = tuple[int, ...]
Arc = tuple[int, int]
"""A place and a weight."""
PLACES = 4
TOKENS_MAX = 3


@dataclass(slots=True)
class Step:
    takes: list[Arc] = field(default_factory=list)
    puts: list[Arc] = field(default_factory=list)
    inhibitors: list[Arc] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)


@dataclass(slots=True)
class LimitedNet:
    initial: Marking
    capacities: list[int | None]
    steps: list[Step]

    def after(self, marking: Marking) -> Iterator[Marking]:
        for step in self.steps:
            left = list(marking)
            for place, weight in step.takes:
                left[place] -= weight
            if min(left) < 0 or any(marking[place] >= least for place, least in step.inhibitors):
                continue
            for place in step.resets:
                left[place] = 0
            for place, weight in step.puts:
                left[place] += weight
            room = zip(left, self.capacities, strict=True)
            if all(most is None or count <= most for count, most in room):
                yield tuple(left)

    def counts(self) -> tuple[int, int]:
        return oracles.reachable(self.initial, self.after)


def random_net(seed: int) -> LimitedNet:
    """A net whose places hold at most three tokens: by a capacity, or because nothing adds more."""
    rng = random.Random(seed)
    initial = tuple(rng.randint(0, 2) for _ in range(PLACES))
    capacities: list[int | None] = [rng.randint(2, TOKENS_MAX) for _ in range(PLACES)]
    steps = []
    for _ in range(rng.randint(3, 6)):
        step = Step()
        step.takes = _arcs(rng, rng.randint(0, 2), 2)
        step.puts = _arcs(rng, rng.randint(0, 2), 2)
        step.inhibitors = _arcs(rng, rng.randint(0, 2), 3)
        step.resets = rng.sample(range(PLACES), rng.choice([0, 0, 1]))
        steps.append(step)
    return LimitedNet(initial, capacities, steps)


def _arcs(rng: random.Random, count: int, weight_max: int) -> list[Arc]:
    return [(place, rng.randint(1, weight_max)) for place in rng.sample(range(PLACES), count)]


Dialect = Callable[[str], tuple[str, str]]
DIALECTS: dict[str, Dialect] = {
    "attribute": lambda kind: (f' type="{kind}"', ""),
    "value": lambda kind: ("", f'<type value="{kind}"/>'),
    "type": lambda kind: ("", f"<type><text>{kind}</text></type>"),
    "arctype": lambda kind: ("", f"<arctype><text>{kind}</text></arctype>"),
}
"""How tools write the type of an arc: an attribute and a child."""


def pnml_of(net: LimitedNet, dialect: Dialect) -> str:
    parts = []
    for place, (count, most) in enumerate(zip(net.initial, net.capacities, strict=True)):
        limit = f"<capacity><value>{most}</value></capacity>" if most is not None else ""
        marking = f"<initialMarking><text>{count}</text></initialMarking>"
        parts.append(f'<place id="p{place}">{marking}{limit}</place>')
    for number, step in enumerate(net.steps):
        parts.append(f'<transition id="t{number}"/>')
        arcs = [(f"p{place}", f"t{number}", weight, "") for place, weight in step.takes]
        arcs += [(f"t{number}", f"p{place}", weight, "") for place, weight in step.puts]
        arcs += [
            (f"p{place}", f"t{number}", least, "inhibitor") for place, least in step.inhibitors
        ]
        arcs += [(f"p{place}", f"t{number}", 1, "reset") for place in step.resets]
        for source, target, weight, kind in arcs:
            attribute, child = dialect(kind) if kind else ("", "")
            text = f"<inscription><text>{weight}</text></inscription>"
            ends = f'source="{source}" target="{target}"'
            parts.append(f'<arc id="a{len(parts)}" {ends}{attribute}>{text}{child}</arc>')
    inner = "".join(parts)
    kind = "http://www.pnml.org/version-2009/grammar/ptnet"
    return f'<pnml><net id="n" type="{kind}"><page id="g">{inner}</page></net></pnml>'
