"""The ways in which tasks are found and executed."""

import os
import sys
from typing import Any

import pytest

from dovemq.workflows import GiveUp, TaskCall, TopicTask, task
from dovemq.workflows.executing import CommandExecution, TaskFailed, execution_of
from dovemq.workflows.tasks import TasksInvalid, by_topic, load_tasks
from tests.workflows import sample_tasks

MODULE = "tests.workflows.sample_tasks"


def _call(content: Any = None, **results: Any) -> TaskCall:
    return TaskCall("job", "x", "A", "A", 1, content, results)


async def _executed(found: TopicTask, call: TaskCall) -> Any:
    execution = execution_of(found, 2)
    try:
        return await execution.run(call)
    finally:
        execution.close()


async def test_function_coroutine_and_process_give_their_results() -> None:
    assert await _executed(sample_tasks.double, _call(3)) == 6
    assert await _executed(sample_tasks.add, _call(a=1, b=2)) == 3
    assert await _executed(sample_tasks.in_process, _call()) != os.getpid()


async def test_process_that_dies_fails_the_call_and_the_next_one_works() -> None:
    execution = execution_of(sample_tasks.in_process, 1)
    with pytest.raises(TaskFailed, match="has died"):
        await execution.run(_call("die"))
    assert await execution.run(_call()) != os.getpid()
    with pytest.raises(GiveUp, match="never"):
        await execution.run(_call("give up"))
    execution.close()


async def test_command_reads_its_call_and_prints_its_result() -> None:
    program = (
        "import json,sys; c = json.load(sys.stdin); print(json.dumps([c['task'], c['input']]))"
    )
    execution = CommandExecution(f'{sys.executable} -c "{program}"')
    assert await execution.run(_call({"x": 1})) == ["A", {"x": 1}]


async def test_command_without_output_has_no_result() -> None:
    assert await CommandExecution("true").run(_call()) is None


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("sh -c 'echo broken >&2; exit 3'", "exit code 3: broken"),
        ("echo no json", "its output is not JSON"),
        ("head -c 100000 /dev/zero", "its output has more than 65536 bytes"),
    ],
)
async def test_command_that_fails_says_why(command: str, text: str) -> None:
    with pytest.raises(TaskFailed, match=text):
        await CommandExecution(command).run(_call("x" * 1_000))


@pytest.mark.parametrize("command", ["", "'open"])
def test_command_line_that_is_none_is_refused(command: str) -> None:
    with pytest.raises(TaskFailed):
        CommandExecution(command)


def test_tasks_are_found_in_a_module_or_under_a_name() -> None:
    assert set(by_topic(load_tasks(MODULE))) == {"A", "B", "C"}
    assert set(by_topic(load_tasks(f"{MODULE}:some"))) == {"A", "B"}
    assert load_tasks(f"{MODULE}:double") == [sample_tasks.double]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("tests.workflows.nowhere", "cannot be imported"),
        (f"{MODULE}:nothing", "nothing there is decorated"),
        (f"{MODULE}:missing", "nothing there is decorated"),
    ],
)
def test_place_without_tasks_is_refused(place: str, text: str) -> None:
    with pytest.raises(TasksInvalid, match=text):
        load_tasks(place)


def test_two_functions_of_one_topic_are_refused() -> None:
    with pytest.raises(TasksInvalid, match="two functions serve the topic A"):
        by_topic([sample_tasks.double, TopicTask("A", sample_tasks.add)])


def test_decorator_refuses_what_cannot_be() -> None:
    with pytest.raises(TasksInvalid, match="is no topic"):
        task("a b")

    async def function(call: TaskCall) -> None: ...

    with pytest.raises(TasksInvalid, match="cannot be async"):
        task("A", processes=True)(function)


def test_decorated_function_is_still_a_function() -> None:
    assert sample_tasks.double(_call(4)) == 8
