"""What Spark's event log tells of tasks: where each ran, and what was done again elsewhere."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Task(NamedTuple):
    """One run of a task that has ended; `part` is what it computed."""

    part: tuple[int, int]
    executor: str
    launched_ms: int
    finished_ms: int
    succeeded: bool


class Loss(NamedTuple):
    """What the loss of an executor meant.

    `finished`: tasks that it had finished. `repeated`: parts that it had finished or begun, and
    that another executor finished after it was lost.
    """

    finished: int
    repeated: int


def settings(directory: Path) -> dict[str, str]:
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": directory.as_uri(),
        "spark.eventLog.compress": "false",
    }


def loss_of(directory: Path, executor: str, since_ms: int, lost_ms: int) -> Loss:
    """Of an application that has ended; tasks that were launched before `since_ms` do not count."""
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


def _tasks(directory: Path) -> Iterator[Task]:
    for event in _events(directory):
        if event["Event"] == "SparkListenerTaskEnd":
            info = event["Task Info"]
            yield Task(
                (event["Stage ID"], info["Partition ID"]),
                info["Executor ID"],
                info["Launch Time"],
                info["Finish Time"],
                event["Task End Reason"]["Reason"] == "Success",
            )


def _events(directory: Path) -> Iterator[dict[str, Any]]:
    # Beside each file there is a hidden one with its checksum.
    for file in sorted(path for path in directory.rglob("[!.]*") if path.is_file()):
        with file.open() as lines:
            yield from (json.loads(line) for line in lines if line.strip())
