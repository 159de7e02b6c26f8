"""Every figure that can be reproduced, by its id: the paper's short name and its number there."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dovemq.experiments import elastic, vma_pages, vma_rates, vma_threads
from dovemq.experiments.figure import Effort, Figure

CITATIONS: Final[Mapping[str, str]] = {
    "vma": "Li et al. (2015)",
    "elastic": "Nguyen and Nahrstedt (2016)",
}
"""The papers that figures are from; `docs/reference/papers.md` has their titles."""


@dataclass(frozen=True, slots=True)
class Experiment:
    title: str
    run: Callable[[Effort], Figure]


def _loop(effort: Effort) -> Figure:
    # Imported here: it starts a server and reads its trace, and needs an extra of its own.
    from dovemq.experiments.loop import predicted_and_measured

    return predicted_and_measured(effort)


EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    **{
        name: Experiment(title, functools.partial(vma_pages.page_figure, name))
        for name, title in vma_pages.TITLES.items()
    },
    "vma-fig11": Experiment("delivery time by threads", vma_threads.delivery_time),
    "vma-fig12": Experiment("waiting messages by threads", vma_threads.waiting_number),
    "vma-fig13": Experiment("utilisation by threads", vma_threads.utilisation),
    "vma-fig14": Experiment("all three measures by service time", vma_rates.service_time),
    "vma-fig15": Experiment("all three measures by arrival rate", vma_rates.arrival_rate),
    "elastic-fig4": Experiment("MinTime and Random, step by step", elastic.work_in_progress),
    "elastic-model": Experiment("decomposition and simulation by job type", elastic.model_by_class),
    "loop": Experiment("a model calibrated from traces, beside the real service", _loop),
}
