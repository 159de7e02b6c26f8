"""Coloured Petri nets of a file, with other values of their constants.

Measures are monitors by the names that `dovemq cpn simulate` gives them: `count T`, `size P`,
`T: EXPR` for a value collected at each firing of T, and else an expression of the marking.
"""

import math
from collections.abc import Mapping

from dovemq.models import petri
from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.sweeping.trials import Question, Trial, Value


def prepare_cpn(values: Mapping[str, Value], question: Question) -> Trial:
    if not isinstance(question.source, str):
        raise ModelSpecInvalid("file", "missing: a net is needed, as for dovemq cpn")
    net = petri.checked(petri.read_net(question.source, "net").with_constants(**values))
    laboratory = petri.Laboratory(net, [_monitor(name) for name in question.measures])
    until = question.warm_up + question.horizon

    def replicate(seed: int, replication: int) -> tuple[float, ...]:
        run = laboratory.run(f"{seed}/{replication}", until=until, warmup=question.warm_up)
        means = [run.figures[name].mean for name in question.measures]
        return tuple(math.nan if mean is None else float(mean) for mean in means)

    return Trial(replicate, None)


def _monitor(name: str) -> petri.Monitor:
    word, _, rest = name.partition(" ")
    if word == "count":
        return petri.Count(name, rest)
    if word == "size":
        return petri.MarkingSize(name, rest)
    transition, sign, value = name.partition(": ")
    if sign:
        return petri.Collector(name, transition, value)
    return petri.TimeAverage(name, name)
