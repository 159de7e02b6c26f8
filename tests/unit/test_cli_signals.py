"""Commands that have started processes end as by Ctrl-C, whoever asks."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator

import pytest

from dovemq.cli.pipelining import ended_by_signals, set_by_interruption


@contextlib.contextmanager
def ignored(number: signal.Signals) -> Iterator[None]:
    """As by nohup, or in the background of a script."""
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


def test_command_that_was_told_to_outlive_its_terminal_does() -> None:
    with ignored(signal.SIGHUP), ended_by_signals():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_work_in_batches_is_told_to_stop_and_not_cut_short(number: signal.Signals) -> None:
    with set_by_interruption() as stopping:
        assert not stopping.is_set()
        signal.raise_signal(number)
        assert stopping.is_set()
