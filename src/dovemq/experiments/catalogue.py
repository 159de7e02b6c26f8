"""Every figure that can be reproduced, by its id: the paper's short name and its number there."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dovemq.experiments import (
    bdqs_adaptive,
    elastic,
    elastic_burst,
    elastic_measured,
    elastic_steps,
    joram_balance,
    joram_provisioning,
    joram_queue,
    joram_service_balance,
    joram_service_provisioning,
    joram_service_queue,
    rds_rates,
    rds_readings,
    rds_service,
    rds_sleeps,
    vma_pages,
    vma_rates,
    vma_threads,
)
from dovemq.experiments.figure import Effort, Figure

CITATIONS: Final[Mapping[str, str]] = {
    "vma": "Li et al. (2015)",
    "elastic": "Nguyen and Nahrstedt (2016)",
    "joram": "Taton et al. (2009)",
    "rds": "Kinoshita et al. (2017)",
    "bdqs": "Chen et al. (2011)",
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


# Imported here, as for `loop`: they start Cassandra, and read traces.


def _bdqs_throughput(effort: Effort) -> Figure:
    from dovemq.experiments.bdqs_scaling import throughput

    return throughput(effort)


def _bdqs_response_time(effort: Effort) -> Figure:
    from dovemq.experiments.bdqs_scaling import response_time

    return response_time(effort)


def _bdqs_consistency(effort: Effort) -> Figure:
    from dovemq.experiments.bdqs_consistency import consistency

    return consistency(effort)


def _bdqs_chances(effort: Effort) -> Figure:
    from dovemq.experiments.bdqs_faults import client_and_network

    return client_and_network(effort)


def _bdqs_servers(effort: Effort) -> Figure:
    from dovemq.experiments.bdqs_faults import servers_fail

    return servers_fail(effort)


def _bdqs_adaptive(effort: Effort) -> Figure:
    from dovemq.experiments.bdqs_adaptive_service import measured

    return measured(effort)


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
    "elastic-fig5": Experiment("response time by load, real service", elastic_steps.rising_load),
    "elastic-fig6": Experiment("MinTime, step by step, real service", elastic_steps.min_time_steps),
    "elastic-fig7": Experiment("MinCost, step by step, real service", elastic_steps.min_cost_steps),
    "elastic-fig8": Experiment("a burst with and without the manager", elastic_burst.burst),
    "elastic-measured": Experiment(
        "decomposition and real service by job type", elastic_measured.predicted_and_measured
    ),
    "elastic-model": Experiment("decomposition and simulation by job type", elastic.model_by_class),
    "rds-fig9": Experiment("throughput by requests, simulated", rds_rates.throughput),
    "rds-fig10": Experiment("hit rate by requests, simulated", rds_rates.hit_rate),
    "rds-fig11": Experiment("messages per hit by requests, simulated", rds_rates.messages_per_hit),
    "rds-fig12": Experiment("throughput by sleep, simulated", rds_sleeps.sleep_time),
    "rds-fig14": Experiment("throughput by requests, real service", rds_service.throughput),
    "rds-readings": Experiment("throughput under other readings", rds_readings.readings),
    "joram-fig4": Experiment("rates by waiting messages", joram_service_queue.waiting_messages),
    "joram-fig5": Experiment("one producer, one consumer", joram_service_queue.one_consumer),
    "joram-fig6": Experiment("one producer, two consumers", joram_service_queue.two_consumers),
    "joram-fig7": Experiment("throughput of one partition", joram_service_queue.capacity),
    "joram-fig8": Experiment("two partitions, unbalanced", joram_service_balance.unbalanced),
    "joram-fig9": Experiment("two partitions, balanced", joram_service_balance.balanced),
    "joram-fig10": Experiment("one partition, clients join", joram_service_provisioning.static),
    "joram-fig11": Experiment("a second partition is added", joram_service_provisioning.dynamic),
    "joram-model-queue": Experiment("one partition by its clients", joram_queue.single_queue),
    "joram-model-balance": Experiment("two partitions by distribution", joram_balance.balance),
    "joram-model-provisioning": Experiment(
        "one partition, or as many as needed", joram_provisioning.provisioning
    ),
    "bdqs-fig4": Experiment(
        "throughput by load and size, real service and simulated",
        _bdqs_throughput,
    ),
    "bdqs-fig5": Experiment(
        "response time by throughput, with M/M/k",
        _bdqs_response_time,
    ),
    "bdqs-fig6": Experiment(
        "duplicates and order by K and receivers",
        _bdqs_consistency,
    ),
    "bdqs-fig7": Experiment(
        "network and client failures",
        _bdqs_chances,
    ),
    "bdqs-fig8": Experiment("failures of servers", _bdqs_servers),
    "bdqs-adaptive": Experiment(
        "adaptive K while receivers come and go, simulated", bdqs_adaptive.simulated
    ),
    "bdqs-adaptive-service": Experiment(
        "adaptive K while receivers come and go, real service",
        _bdqs_adaptive,
    ),
    "loop": Experiment("a model calibrated from traces, beside the real service", _loop),
}
