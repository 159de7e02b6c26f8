"""The table against the peers: medians, verdicts and the page are made of the samples alone."""

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.peers import pages
from bench.peers.client import Measured
from bench.peers.contestants import CONTESTANTS
from bench.peers.installing import RECIPES
from bench.peers.report import Verdict, lines, verdicts
from bench.peers.runs import Sample
from bench.peers.workloads import DRAIN_DEEP, DRAIN_SHALLOW, LIFECYCLE, LIFECYCLE_BATCH, WAKE

MESSAGES = 1_000


def sample(
    contestant: str, workload: str, cpu_ms: float, seconds: float = 1.0, number: int = 1
) -> Sample:
    measured = Measured(
        messages=MESSAGES,
        seconds=seconds,
        server_cpu_seconds=cpu_ms / 1e3,
        client_cpu_seconds=0.1,
        memory_bytes=2**20,
        p50_ms=0.5,
        p99_ms=3.0,
        receive_p50_ms=0.25,
        from_send_start_p50_ms=1.0,
        sent=0,
        backlog=200_000 if workload == DRAIN_DEEP else 0,
        duplicates=1,
        missing=0,
        cut=False,
    )
    return Sample(number, contestant, workload, measured)


def found(*samples: Sample) -> Mapping[str, Verdict]:
    return {verdict.text: verdict for verdict in verdicts(lines(samples))}


def test_line_is_the_median_of_the_passes_and_the_sum_of_the_duplicates() -> None:
    costs = enumerate((100.0, 900.0, 200.0))
    (line,) = lines([sample("nats", LIFECYCLE, cost, number=at) for at, cost in costs])
    assert line.cpu_ms == pytest.approx(200)
    assert (line.passes, line.duplicates, line.rate) == (3, 3, MESSAGES)


def test_cheapest_peer_is_one_that_speaks_sqs() -> None:
    reported = found(
        sample("dovemq", LIFECYCLE, 100),
        sample("moto", LIFECYCLE, 900),
        sample("fauxqs", LIFECYCLE, 250),
        sample("redis", LIFECYCLE, 10),
    )
    verdict = reported[f"CPU of {LIFECYCLE} / cheapest SQS-compatible peer (fauxqs)"]
    assert verdict.found == pytest.approx(0.4)
    assert verdict.passed


def test_missed_bound_is_said_to_be_missed() -> None:
    reported = found(sample("dovemq", LIFECYCLE_BATCH, 100), sample("nats", LIFECYCLE_BATCH, 50))
    verdict = reported[f"CPU of {LIFECYCLE_BATCH} / NATS JetStream"]
    assert not verdict.passed
    assert str(verdict).startswith("MISS: ")


def test_what_was_not_measured_neither_passes_nor_misses() -> None:
    reported = found(sample("dovemq", LIFECYCLE, 100))
    assert {verdict.passed for verdict in reported.values()} == {None}


def test_drain_must_not_slow_down_with_the_backlog() -> None:
    shallow = sample("dovemq", DRAIN_SHALLOW, 100, seconds=1.0)
    slow = found(shallow, sample("dovemq", DRAIN_DEEP, 100, seconds=2.0))
    steady = found(shallow, sample("dovemq", DRAIN_DEEP, 100, seconds=1.1))
    text = "drain rate at 200,000 / at 1,000"
    assert (slow[text].passed, steady[text].passed) == (False, True)


def test_wake_up_is_compared_with_an_ordinary_receive() -> None:
    reported = found(sample("dovemq", WAKE, 100))
    (verdict,) = [each for each in reported.values() if "wake-up" in each.text]
    assert verdict.found == pytest.approx(0.25)


def outcome(*samples: Sample, absent: Mapping[str, str] = {}) -> pages.Outcome:
    versions = {each.contestant: "1.0" for each in samples}
    setting = pages.Setting("2026-01-01", "abc", 2, 24, 1.5, 5, False, versions)
    medians = lines(samples)
    failed = {f"moto {LIFECYCLE}": "ReceiveMessage: HTTP 500"}
    return pages.Outcome(setting, samples, medians, verdicts(medians), absent, failed)


def test_page_names_the_absent_and_the_failed_with_their_reasons() -> None:
    text = pages.markdown(
        outcome(sample("dovemq", LIFECYCLE, 100), absent={"redis": "redis-server is not installed"})
    )
    assert "| Redis streams | absent | redis-server is not installed |" in text
    assert "| moto | failed: ReceiveMessage: HTTP 500 |" in text
    assert "| DoveMQ | 1,000 | 100 |" in text


def test_every_row_of_a_table_has_all_its_columns() -> None:
    text = pages.markdown(outcome(sample("dovemq", LIFECYCLE, 100), sample("nats", WAKE, 5)))
    for table in text.split("\n\n"):
        if table.startswith("|"):
            assert len({line.count("|") for line in table.splitlines()}) == 1


def test_results_hold_one_row_per_pass(tmp_path: Path) -> None:
    passes = [sample("nats", LIFECYCLE, 100, number=number) for number in (1, 2, 3)]
    pages.write_results(outcome(*passes), tmp_path / "results.csv")
    with (tmp_path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["pass"] for row in rows] == ["1", "2", "3"]
    assert {(row["date"], row["version"]) for row in rows} == {("2026-01-01", "1.0")}


def test_every_contestant_is_distinguished_and_can_be_got() -> None:
    names = [contestant.name for contestant in CONTESTANTS]
    assert len(set(names)) == len(names)
    assert set(names) == set(RECIPES)
