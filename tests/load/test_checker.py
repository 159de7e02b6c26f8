"""The checker finds nothing in a correct run, and names the messages of a wrong one."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.load.checker import Rules, check
from dovemq.load.judgement import Cause, CheckReport, Slack, Violation
from dovemq.load.reading import open_journals
from tests.load import fake_run
from tests.load.fake_run import FakeRun, Send
from tests.load.plain_checker import plainly_checked

PLANTED: dict[Violation, Callable[[FakeRun], Send]] = {
    Violation.LOST: fake_run.lose,
    Violation.CORRUPTED: fake_run.corrupt,
    Violation.STRANGE: fake_run.invent,
    Violation.RETURNED: fake_run.give_back,
    Violation.COLLIDED: fake_run.collide,
    Violation.DOUBLED: fake_run.double,
    Violation.LATE: fake_run.swap,
}
IN_ORDER = Rules(in_order=True)
ROWS_FEW = 40


def faults_of(report: CheckReport) -> dict[Violation, int]:
    return {fault: count for fault, count in report.faults.items() if count}


def orderly(seed: int, **options: int) -> FakeRun:
    """Answers may be lost, but nothing is sent twice, so that the order is certain."""
    return FakeRun(seed, trouble=0.0, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_correct_run_has_no_fault(seed: int) -> None:
    report = check(FakeRun(seed, messages=300).journals())
    assert (faults_of(report), report.failed, report.culprits) == ({}, False, ())
    assert report.sends.unknown > 0
    assert report.duplicates[Cause.TIMED_OUT] > 0
    assert report.receives == report.received + sum(report.duplicates.values())


@pytest.mark.parametrize("fault", PLANTED)
@pytest.mark.parametrize("rows_max", [ROWS_FEW, 10_000])
def test_planted_fault_is_found_and_its_message_named(fault: Violation, rows_max: int) -> None:
    run = orderly(7)
    victim = PLANTED[fault](run)
    report = check(run.journals(), IN_ORDER, rows_max=rows_max)
    assert (faults_of(report), report.failed) == ({fault: 1}, True)
    (culprit,) = report.culprits
    assert (culprit.faults, culprit.queue) == ((fault,), run.queues[victim.queue])
    assert (culprit.sender, culprit.send_seq) == (victim.sender, victim.send_seq)
    assert len(culprit.history) >= 2


@pytest.mark.parametrize("fault", [each for each in PLANTED if each is not Violation.LATE])
@pytest.mark.parametrize("seed", range(5))
def test_planted_fault_is_found_among_legitimate_events(fault: Violation, seed: int) -> None:
    run = FakeRun(seed, messages=300, trouble=0.2)
    PLANTED[fault](run)
    assert faults_of(check(run.journals())) == {fault: 1}


def test_allowed_fault_is_counted_and_does_not_fail() -> None:
    run = orderly(3)
    fake_run.collide(run)
    report = check(run.journals(), Rules(allowed=frozenset({Violation.COLLIDED})))
    assert (faults_of(report), report.failed) == ({Violation.COLLIDED: 1}, False)


def test_order_is_always_required_of_fifo_queues() -> None:
    run = orderly(3, queues=("jobs.fifo", "jobs"))  # type: ignore[arg-type]
    victims = [fake_run.swap(run) for _ in range(12)]
    report = check(run.journals())
    assert 0 < report.faults[Violation.LATE] < report.late
    assert {victim.queue for victim in victims} == {0, 1}
    assert {culprit.queue for culprit in report.culprits} == {"jobs.fifo"}


def test_history_contains_what_each_client_saw() -> None:
    run = orderly(5)
    victim = fake_run.give_back(run)
    (culprit,) = check(run.journals()).culprits
    told = " | ".join(culprit.history)
    assert told.count("receives " + victim.message_id) == 2
    assert f"acknowledged as {victim.message_id}" in told
    assert told.count("settle acknowledged") == 2
    assert culprit.history[0].startswith("+0.000000 s  sent 100 bytes")


def test_only_the_first_violating_messages_have_histories() -> None:
    run = orderly(5)
    for _ in range(6):
        fake_run.lose(run)
    report = check(run.journals(), Rules(histories_max=2))
    assert (report.faults[Violation.LOST], len(report.culprits)) == (6, 2)


def test_return_within_the_skew_of_the_clocks_is_not_held_against_the_service() -> None:
    run = orderly(5)
    victim = fake_run.give_back(run)
    run.receives[-1].asked_us = run.receive_of(victim).settled_us + 5_000
    assert check(run.journals()).faults[Violation.RETURNED] == 1
    lax = Rules(slack=Slack(clock_us=20_000_000))
    assert not check(run.journals(), lax).failed


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), rows_max=st.sampled_from([9, 60, 5_000]))
def test_checker_agrees_with_a_plain_implementation_of_the_rules(seed: int, rows_max: int) -> None:
    run = FakeRun(seed, messages=40, senders=2, trouble=0.4)
    for plant in PLANTED.values():
        if run.rng.random() < 0.5 and len(run.quiet()) > 20:
            plant(run)
    journals = run.journals()
    found = check(journals, IN_ORDER, rows_max=rows_max)
    expected = plainly_checked(journals, Slack())
    assert {name: getattr(found, name) for name in expected} == expected


def test_check_ends_when_its_progress_callback_raises() -> None:
    def stop(rows: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        check(orderly(1).journals(), progress=stop)


def test_history_larger_than_memory_is_checked_in_bounded_memory(tmp_path: Path) -> None:
    run = orderly(11, messages=20_000, senders=5)
    run.receives.pop(10_000)
    rows_bytes = sum(journal.rows.nbytes for journal in run.journals(tmp_path))
    check(orderly(1).journals())
    tracemalloc.start()
    report = check(open_journals([tmp_path]), Rules(histories_max=0), rows_max=2_000)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert faults_of(report) == {Violation.LOST: 1}
    assert peak_bytes < rows_bytes / 4
