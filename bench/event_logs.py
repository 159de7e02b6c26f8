"""Tasks in Spark's event log: where each ran, how long, and on how many rows."""

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Task(NamedTuple):
    """One finished run of a task; `part` is its stage and partition."""

    part: tuple[int, int]
    executor: str
    launched_ms: int
    finished_ms: int
    succeeded: bool
    run_ms: int
    input_bytes: int
    rows: int


class Loss(NamedTuple):
    """The consequences of a lost executor.

    `finished`: tasks that it had finished. `repeated`: parts that it had finished or started, and
    that another executor finished after it was lost.
    """

    finished: int
    repeated: int


class Stage(NamedTuple):
    """The tasks of one stage: how long the longest and the median ran, and rows of the largest."""

    number: int
    tasks: int
    longest_ms: int
    median_ms: float
    rows_most: int
    rows_median: float
    input_bytes: int


def settings(directory: Path) -> dict[str, str]:
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": directory.as_uri(),
        "spark.eventLog.compress": "false",
    }


def loss_of(directory: Path, executor: str, since_ms: int, lost_ms: int) -> Loss:
    """The loss in a finished application, without tasks that were launched before `since_ms`."""
    tasks = [task for task in _tasks(directory) if task.launched_ms >= since_ms]
    own = [task for task in tasks if task.executor == executor]
    others = {
        task.part
        for task in tasks
        if task.executor != executor and task.succeeded and task.finished_ms >= lost_ms
    }
    return Loss(
        finished=sum(task.succeeded and task.finished_ms <= lost_ms for task in own),
        repeated=len({task.part for task in own} & others),
    )


def stages_of(directory: Path) -> list[Stage]:
    """The stages of a finished application, in their order."""
    by_stage: dict[int, list[Task]] = {}
    for task in _tasks(directory):
        if task.succeeded:
            by_stage.setdefault(task.part[0], []).append(task)
    return [
        Stage(
            number,
            len(tasks),
            max(task.run_ms for task in tasks),
            statistics.median(task.run_ms for task in tasks),
            max(task.rows for task in tasks),
            statistics.median(task.rows for task in tasks),
            sum(task.input_bytes for task in tasks),
        )
        for number, tasks in sorted(by_stage.items())
    ]


def _tasks(directory: Path) -> Iterator[Task]:
    for event in _events(directory):
        if event["Event"] == "SparkListenerTaskEnd":
            info, metrics = event["Task Info"], event.get("Task Metrics") or {}
            read, shuffled = (
                metrics.get("Input Metrics", {}),
                metrics.get("Shuffle Read Metrics", {}),
            )
            yield Task(
                (event["Stage ID"], info["Partition ID"]),
                info["Executor ID"],
                info["Launch Time"],
                info["Finish Time"],
                event["Task End Reason"]["Reason"] == "Success",
                metrics.get("Executor Run Time", 0),
                read.get("Bytes Read", 0),
                read.get("Records Read", 0) + shuffled.get("Total Records Read", 0),
            )


def _events(directory: Path) -> Iterator[dict[str, Any]]:
    # Each file has a hidden file with its checksum beside it.
    for file in sorted(path for path in directory.rglob("[!.]*") if path.is_file()):
        with file.open() as lines:
            yield from (json.loads(line) for line in lines if line.strip())
