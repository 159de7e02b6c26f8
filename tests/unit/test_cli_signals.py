"""Long commands end by Ctrl-C, SIGTERM or a lost terminal, and say how to go on."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from dovemq.cli.command import Interrupted
from dovemq.cli.interruption import START_OVER, ended_by_signals, ended_soon, set_by_interruption


@contextlib.contextmanager
def ignored(number: signal.Signals) -> Iterator[None]:
    """Ignores a signal, as nohup does, or a shell for a script in the background."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_command_is_as_ctrl_c(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_loop_is_ended_where_it_waits_and_never_in_the_middle(number: signal.Signals) -> None:
    reached = []

    async def work() -> None:
        signal.raise_signal(number)
        reached.append("the end of its turn")
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt), ended_by_signals():
        asyncio.run(work())
    assert reached


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_loop_is_ended_also_where_ctrl_c_is_ignored(number: signal.Signals) -> None:
    async def work() -> None:
        signal.raise_signal(number)
        await asyncio.Event().wait()

    with ignored(signal.SIGINT), pytest.raises(KeyboardInterrupt), ended_by_signals():
        asyncio.run(work())


def test_command_that_ignores_hangup_outlives_its_terminal() -> None:
    with ignored(signal.SIGHUP), ended_by_signals():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_work_in_batches_is_asked_to_stop_and_finishes_its_batch(number: signal.Signals) -> None:
    with set_by_interruption() as stopping:
        assert not stopping.is_set()
        signal.raise_signal(number)
        assert stopping.is_set()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_interruption_has_the_exit_code_of_its_signal_and_says_how_to_go_on(
    number: signal.Signals, code: int
) -> None:
    def work() -> None:
        with ended_soon() as ending:
            ending.advice = lambda: "look into the folder"
            signal.raise_signal(number)

    with pytest.raises(Interrupted) as interrupted:
        work()
    assert interrupted.value.code == code
    assert str(interrupted.value) == "interrupted; look into the folder"


def test_interrupted_loop_says_how_to_go_on_too() -> None:
    async def work() -> None:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.Event().wait()

    with pytest.raises(Interrupted, match=START_OVER), ended_soon():
        asyncio.run(work())


def test_failure_after_a_signal_is_an_interruption_and_another_one_is_not() -> None:
    def work() -> None:
        with ended_soon() as ending:
            ending.begin(signal.SIGTERM)
            raise RuntimeError("the job was cancelled")

    with pytest.raises(Interrupted):
        work()
    with pytest.raises(RuntimeError, match="no room"), ended_soon():
        raise RuntimeError("no room")


HANGING = """
import signal, subprocess, sys, threading
from dovemq.cli import interruption
from dovemq.cli.output import working

interruption.END_SECONDS_MAX = 0.1
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])

def hang():
    print("hanging", flush=True)
    threading.Event().wait()

with interruption.ended_soon():
    working(lambda: "", hang, lambda: None)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_command_whose_work_hangs_ends_all_the_same_with_what_it_started(
    number: signal.Signals,
) -> None:
    command = [sys.executable, "-c", HANGING]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        # The child has the same standard output: this ends when both have ended.
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said == f"dovemq: interrupted; {START_OVER}\n"
