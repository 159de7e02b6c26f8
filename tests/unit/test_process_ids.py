"""Recorded processes: signalled only while they are the ones that were recorded."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from dovemq.system.process_ids import ProcessId, end_all, process_id

NO_PROCESS = 2**22 + 1
"""Beyond the greatest number that Linux gives to a process."""
SECONDS_MAX = 30.0


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as started:
        yield started
        started.kill()


def test_recorded_process_is_asked_to_end(process: subprocess.Popen[bytes]) -> None:
    recorded = process_id(process.pid)
    assert recorded.running
    end_all([recorded], signal.SIGTERM, SECONDS_MAX)
    assert not recorded.running
    assert process.wait() == -signal.SIGTERM


def test_paused_process_is_ended_too(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGSTOP)
    end_all([process_id(process.pid)], signal.SIGTERM, SECONDS_MAX)
    assert process.wait() == -signal.SIGTERM


def test_process_that_ignores_the_signal_is_killed() -> None:
    command = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done"]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout is not None
        assert stubborn.stdout.readline() == b"ready\n"
        end_all([process_id(stubborn.pid)], signal.SIGTERM, 0.2)
        assert stubborn.wait() == -signal.SIGKILL


def test_later_process_with_the_same_number_is_left_alone(
    process: subprocess.Popen[bytes],
) -> None:
    earlier = ProcessId(process.pid, process_id(os.getpid()).birth)
    assert not earlier.running
    end_all([earlier], signal.SIGTERM, SECONDS_MAX)
    earlier.signal(signal.SIGKILL)
    earlier.kill()
    assert process.poll() is None


def test_process_that_has_ended_is_not_running_even_if_nobody_waited_for_it() -> None:
    with subprocess.Popen(["sleep", "0"], stdout=subprocess.PIPE) as short:
        recorded = process_id(short.pid)
        assert short.stdout is not None
        assert short.stdout.read() == b""
        end_all([recorded], signal.SIGTERM, SECONDS_MAX)
        assert not recorded.running
    assert not process_id(NO_PROCESS).running
