"""Every figure and table that can be reproduced, by its id: the paper's number and its own."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dovemq.experiments import (
    allocation_steps,
    decomposition,
    vma_arrival_rate,
    vma_pages,
    vma_service_time,
    vma_threads,
    vma_waiting,
)
from dovemq.experiments.figure import Effort, Figure


@dataclass(frozen=True, slots=True)
class Experiment:
    title: str
    run: Callable[[Effort], Figure]


def _loop(effort: Effort) -> Figure:
    # Only here: it starts a server and reads its trace, which the other figures need no extra for.
    from dovemq.experiments.loop import predicted_and_measured

    return predicted_and_measured(effort)


EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    **{
        name: Experiment(title, functools.partial(vma_pages.page_figure, name))
        for name, title in vma_pages.TITLES.items()
    },
    "vma-fig11": Experiment("delivery time by threads", vma_threads.delivery_time),
    "vma-fig12": Experiment("waiting messages by threads", vma_waiting.waiting_number),
    "vma-fig13": Experiment("utilisation by threads", vma_threads.utilisation),
    "vma-fig14": Experiment("all three by service time", vma_service_time.service_time),
    "vma-fig15": Experiment("all three by arrival rate", vma_arrival_rate.arrival_rate),
    "elastic-fig4": Experiment(
        "MinTime and Random, step by step", allocation_steps.work_in_progress
    ),
    "elastic-model": Experiment("decomposition and simulation by class", decomposition.by_class),
    "loop": Experiment("a model from traces of the service, and the service", _loop),
}
