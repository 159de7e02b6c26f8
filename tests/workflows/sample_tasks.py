"""Functions of workers for the tests, in a module that worker processes can import."""

import os
import signal
from typing import Any

from dovemq.workflows import GiveUp, TaskCall, task


@task("A")
def double(call: TaskCall) -> Any:
    return 2 * call.input


@task("B")
async def add(call: TaskCall) -> Any:
    return sum(call.results.values())


@task("C", processes=True)
def in_process(call: TaskCall) -> Any:
    if call.input == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if call.input == "give up":
        raise GiveUp("never")
    return os.getpid()


some = [double, add]
nothing = 5
