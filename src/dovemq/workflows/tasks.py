"""Functions that serve topics, and how a worker finds them: `MODULE` or `MODULE:NAME`."""

import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dovemq.core.errors import DoveError
from dovemq.core.workflows.specification import TOPIC_NAME


class TasksInvalid(DoveError):
    """The functions of a worker cannot be found, or two serve the same topic."""


@dataclass(frozen=True, slots=True)
class TopicTask:
    """A function that serves a topic. It is called as the function that it wraps.

    With `processes` each call runs in a process of its own worker pool, for work that needs a
    processor for long.
    """

    topic: str
    function: Callable[..., Any]
    processes: bool = False

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def task(topic: str, *, processes: bool = False) -> Callable[[Callable[..., Any]], TopicTask]:
    """Make a function, sync or async, one that serves a topic.

    It gets a `TaskCall` and returns what JSON can hold. An exception is a failed attempt;
    `GiveUp` a failed task.
    """
    if not TOPIC_NAME.fullmatch(topic):
        text = f"{topic!r} is no topic: 1 to 60 letters, digits, hyphens or underscores are needed"
        raise TasksInvalid(text)

    def serving(function: Callable[..., Any]) -> TopicTask:
        found = TopicTask(topic, function, processes)
        if processes and found.is_async:
            raise TasksInvalid(f"{function.__name__}: a function for processes cannot be async")
        return found

    return serving


def load_tasks(place: str) -> list[TopicTask]:
    """The functions of a module, or those under one name in it: one, or several in a list."""
    module_name, _, name = place.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise TasksInvalid(f"{place}: the module cannot be imported: {error}") from error
    if not name:
        found: Iterable[Any] = vars(module).values()
    else:
        value = getattr(module, name, None)
        found = value if isinstance(value, list | tuple) else [value]
    tasks = [each for each in found if isinstance(each, TopicTask)]
    if not tasks:
        raise TasksInvalid(f"{place}: nothing there is decorated with @task(TOPIC)")
    return tasks


def by_topic(tasks: Iterable[TopicTask]) -> dict[str, TopicTask]:
    found: dict[str, TopicTask] = {}
    for each in tasks:
        if found.setdefault(each.topic, each) is not each:
            raise TasksInvalid(f"two functions serve the topic {each.topic}")
    return found
