"""The cost of a plan, and how close greedy plans are to the best.

    python -m bench.planning [--networks 500] [--json]

Speed: 50 topics and 20 random job types, each a chain of tasks, with the consumers that the loads
need and half as many more. Quality: small networks, greedy against all
allocations; costs are equal, or differ and grow.
"""

import time
from typing import Final

import numpy as np

from bench.tables import Row, parser_of, show
from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic, chain
from dovemq.models.planning import Cost, Problem, exact_time, min_time
from dovemq.models.planning.progress import WorkInProgress

SEED: Final = 6
TOPICS: Final = 50
JOBS: Final = 20
TASKS: Final = (3, 5, 10, 20, 50)
ROUNDS: Final = 5


def network_of(rng: np.random.Generator, topics: int, jobs: int, tasks: int) -> JobNetwork:
    names = [f"topic-{place}" for place in range(topics)]
    made = (Topic(name, float(rng.uniform(1, 5)), float(rng.uniform(0.1, 2.5))) for name in names)
    types = (
        JobType(
            f"job-{place}",
            float(rng.uniform(0.2, 2.0)),
            (JobRoute(chain(*map(str, rng.choice(names, tasks)))),),
            float(rng.uniform(0.1, 2.5)),
        )
        for place in range(jobs)
    )
    return JobNetwork(tuple(made), tuple(types))


def stable_cost(problem: Problem) -> float:
    return float(problem.extra_cost(np.maximum(WorkInProgress(problem).stable_from, problem.start)))


def speed(tasks: int) -> Row:
    problem = Problem(network_of(np.random.default_rng(SEED), TOPICS, JOBS, tasks))
    budget = 1.5 * stable_cost(problem) + TOPICS / 2
    walls, cpus = [], []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        plan = min_time(problem, budget)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {
        "topics": TOPICS,
        "jobs": JOBS,
        "tasks a job": tasks,
        "consumers given": len(plan.steps),
        "wall ms, best": 1_000 * min(walls),
        "wall ms, worst": 1_000 * max(walls),
        "cpu ms, best": 1_000 * min(cpus),
    }


def quality(networks: int, *, equal: bool) -> Row:
    rng = np.random.default_rng(SEED)
    gaps = []
    for _ in range(networks):
        network = network_of(rng, 4, 3, int(rng.integers(1, 5)))
        grow = [(float(rng.uniform(0.5, 2)), float(rng.uniform(0, 0.2))) for _ in network.topics]
        problem = Problem(network, costs=() if equal else tuple(Cost(*each) for each in grow))
        budget = stable_cost(problem) + float(rng.integers(0, 6))
        gaps.append(min_time(problem, budget).wip / exact_time(problem, budget).wip - 1)
    found = np.array(gaps)
    return {
        "costs": "equal" if equal else "different, growing",
        "networks": networks,
        "greedy is best, %": 100 * float((found < 1e-9).mean()),
        "mean gap, %": 100 * float(found.mean()),
        "worst gap, %": 100 * float(found.max()),
    }


def rows(quick: bool) -> list[Row]:
    """The section of `python -m bench.models`."""
    networks = 50 if quick else 500
    return [
        *(speed(tasks) for tasks in TASKS),
        *(quality(networks, equal=equal) for equal in (True, False)),
    ]


def main() -> None:
    parser = parser_of("planning", __doc__)
    parser.add_argument("--networks", type=int, default=500)
    args = parser.parse_args()
    show([speed(tasks) for tasks in TASKS], as_json=args.json)
    rows = [quality(args.networks, equal=equal) for equal in (True, False)]
    show(rows, as_json=args.json)


if __name__ == "__main__":
    main()
