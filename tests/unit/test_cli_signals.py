"""Commands that have started processes end as by Ctrl-C, whoever asks."""

import asyncio
import signal

import pytest

from dovemq.cli.pipelining import ended_by_signals


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

    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert reached


def test_command_that_was_told_to_outlive_its_terminal_does() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
