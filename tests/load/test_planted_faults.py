"""`load check` detects a store that fails once in ten thousand messages, and passes a correct one.

`tests/load/planted.py` has the stores; each fails as its name says.
"""

import json
from pathlib import Path

import pytest

from dovemq.cli import main
from dovemq.load.journals import SUFFIX, head_of
from dovemq.load.judgement import Violation
from dovemq.stores.memory import MemoryPartition
from dovemq.testing.nasty import CALM
from dovemq.testing.schedules import Workload, play
from tests.load import planted

SEED = 3
TEN_THOUSAND = Workload(
    senders=1,
    messages=10_000,
    receivers=1,
    batch=10,
    lease_ms=60_000,
    wait_ms=1_000,
    send_pause_ms_max=3,
    work_ms_max=5,
    neglect=0.0,  # receivers settle every message
    drain_ms_max=200_000,
)
"""One receiver, so that messages are expected in the order of sending."""


def checked(
    wrong: type[MemoryPartition],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, dict[str, int]]:
    """Returns the exit code of the command, and the violations that it reports."""
    played = play(SEED, CALM, TEN_THOUSAND, lambda rng: planted.PlantedStore(wrong, rng))
    for number, journal in enumerate(played.journals):
        content = head_of(journal.heading) + journal.rows.tobytes()
        (folder / f"{number}{SUFFIX}").write_bytes(content)
    code = main(["load", "check", str(folder), "--in-order", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["sends"]["acknowledged"] == 10_000
    # Every message with a violation is listed with its history.
    assert len(report["culprits"]) == sum(report["faults"].values())
    return code, {name: count for name, count in report["faults"].items() if count}


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (planted.LosesOne, Violation.LOST),
        (planted.DoublesOne, Violation.DOUBLED),
        (planted.StoresOneTwice, Violation.COLLIDED),
        (planted.SwapsTwo, Violation.LATE),
        (planted.ReturnsASettledOne, Violation.RETURNED),
        (planted.SpoilsOne, Violation.CORRUPTED),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_planted_fault_is_found_and_named(
    wrong: type[MemoryPartition],
    fault: Violation,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert checked(wrong, tmp_path, capsys) == (1, {fault.value: 1})


def test_correct_service_passes_without_violations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(MemoryPartition, tmp_path, capsys) == (0, {})
