"""The files of a sweep, and how it continues, without Spark."""

import csv
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovemq.pipeline.errors import FolderTaken, FolderUnfit
from dovemq.pipeline.sweep.job import KEEP_SECONDS, ROWS_FIRST, BatchSizer, SweepProgress
from dovemq.pipeline.sweep.ledger import LedgerUnreadable, opened_ledger
from dovemq.pipeline.sweep.replicating import Replicate
from tests.pipeline.sweeping import TEXT, contents, here, run_in, sweep_of


class Crash(Exception):
    pass


def _failing_after(replicate: Replicate, slices: int) -> Replicate:
    left = itertools.count(slices, -1)

    def once_more(rows: pa.Table) -> pa.Table:
        if next(left) <= 0:
            raise Crash
        return replicate(rows)

    return once_more


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    run_in(folder, sweep_of(), here(sweep_of()))
    return folder


def test_results_have_an_interval_for_each_configuration(whole: Path) -> None:
    table = pq.read_table(whole / "results.parquet").to_pylist()
    assert [(row["arrival_rate"], row["consumers"]) for row in table[:2]] == [(0.5, 1), (0.5, 2)]
    unstable = table[6]
    assert unstable["stable"] is False
    assert unstable["replications"] == 0
    assert unstable["sojourn_time"] is unstable["sojourn_time_low"] is None
    for row in table[:6]:
        assert row["sojourn_time_low"] < row["sojourn_time"] < row["sojourn_time_high"]
        assert row["content"] == (
            row["sojourn_time_high"] - row["sojourn_time"] <= 0.05 * row["sojourn_time"]
        )
        assert row["replications"] in range(8, 41, 8)
    with (whole / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["sojourn_time"] or 0) for row in rows] == [
        row["sojourn_time"] or 0 for row in table
    ]


def test_all_replications_are_kept_in_order(whole: Path) -> None:
    rows = pq.read_table(whole / "replications.parquet").to_pylist()
    places = [(row["configuration"], row["replication"]) for row in rows]
    assert places == sorted(set(places))
    table = pq.read_table(whole / "results.parquet").to_pylist()
    assert len(places) == sum(row["replications"] for row in table)
    assert not list((whole / "parts").iterdir())


@pytest.mark.parametrize("slices", [1, 2, 5])
def test_a_sweep_that_crashed_goes_on_to_the_same_bytes(
    tmp_path: Path, whole: Path, slices: int
) -> None:
    sweep = sweep_of()
    with pytest.raises(Crash):
        run_in(tmp_path, sweep, _failing_after(here(sweep), slices), _slow_clock())
    assert len(list((tmp_path / "parts").iterdir())) == slices
    (tmp_path / "parts" / "000099.parquet.partial").write_bytes(b"half")
    counted = SweepProgress()
    run_in(tmp_path, sweep, here(sweep), standing=counted)
    assert contents(tmp_path) == contents(whole)
    assert (
        counted.done == counted.known == pq.read_metadata(whole / "replications.parquet").num_rows
    )


def _slow_clock() -> "Ticks":
    return Ticks(itertools.count(0, KEEP_SECONDS))


class Ticks:
    def __init__(self, times: Iterator[float]) -> None:
        self._times = times

    def __call__(self) -> float:
        return next(self._times)


@pytest.mark.parametrize("slices", [1, 2])
def test_sweep_that_is_stopped_between_two_slices_continues(
    tmp_path: Path, whole: Path, slices: int
) -> None:
    sweep, stopping, standing = sweep_of(), Event(), SweepProgress()
    left = itertools.count(slices - 1, -1)

    def replicate(rows: pa.Table) -> pa.Table:
        if next(left) == 0:
            stopping.set()
        return here(sweep)(rows)

    run_in(tmp_path, sweep, replicate, standing=standing, stopping=stopping)
    parts = sorted((tmp_path / "parts").iterdir())
    assert len(parts) == slices
    assert sum(pq.read_table(part).num_rows for part in parts) == standing.done
    assert standing.under_way == 0
    run_in(tmp_path, sweep, here(sweep))
    assert contents(tmp_path) == contents(whole)


def test_a_finished_sweep_runs_nothing_again(tmp_path: Path, whole: Path) -> None:
    sweep = sweep_of()
    run_in(tmp_path, sweep, here(sweep))
    run_in(tmp_path, sweep, _failing_after(here(sweep), 0))
    assert contents(tmp_path) == contents(whole)


def test_a_crash_while_results_are_published_loses_nothing(tmp_path: Path, whole: Path) -> None:
    sweep = sweep_of()
    run_in(tmp_path, sweep, here(sweep))
    rows = pq.read_table(tmp_path / "replications.parquet")
    (tmp_path / "replications.parquet").unlink()
    pq.write_table(rows.slice(5), tmp_path / "parts" / "000001.parquet")
    pq.write_table(rows.slice(0, 5), tmp_path / "parts" / "000002.parquet")
    run_in(tmp_path, sweep, _failing_after(here(sweep), 0))
    assert contents(tmp_path) == contents(whole)


def test_the_folder_of_another_sweep_is_refused(tmp_path: Path) -> None:
    run_in(tmp_path, sweep_of(), here(sweep_of()))
    before = contents(tmp_path)
    other = sweep_of(TEXT.replace("horizon = 400", "horizon = 500"))
    with pytest.raises(FolderUnfit, match=r"horizon differs.*--out"):
        run_in(tmp_path, other, here(other))
    assert contents(tmp_path) == before


def test_sweep_started_by_other_code_is_not_continued(tmp_path: Path) -> None:
    sweep = sweep_of()
    with opened_ledger(tmp_path, {**sweep.identity(), "code of the models": "another"}):
        pass
    with pytest.raises(FolderUnfit, match=r"code of the models differs.*--out"):
        run_in(tmp_path, sweep, here(sweep))


def test_two_processes_do_not_sweep_in_one_folder(tmp_path: Path) -> None:
    sweep = sweep_of()
    with (
        opened_ledger(tmp_path, sweep.identity()),
        pytest.raises(FolderTaken),
        opened_ledger(tmp_path, sweep.identity()),
    ):
        pass


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    sweep = sweep_of()
    with pytest.raises(Crash):
        run_in(tmp_path, sweep, _failing_after(here(sweep), 1))
    (tmp_path / "parts" / "000001.parquet").write_bytes(b"nothing")
    with pytest.raises(LedgerUnreadable, match=r"000001\.parquet.*remove it"):
        run_in(tmp_path, sweep, here(sweep))
    (tmp_path / "manifest.json").write_text(json.dumps([1]))
    with pytest.raises(FolderUnfit):
        run_in(tmp_path, sweep, here(sweep))
    (tmp_path / "manifest.json").write_bytes(b"{")
    with pytest.raises(LedgerUnreadable, match="manifest"):
        run_in(tmp_path, sweep, here(sweep))


def test_slices_grow_until_one_takes_as_long_as_was_asked() -> None:
    times = iter([0.0, 1.0, 10.0, 14.0, 20.0, 60.0])
    pace = BatchSizer(lambda: next(times), seconds=10.0)
    assert pace.begin() == ROWS_FIRST
    pace.end(ROWS_FIRST)
    assert pace.begin() == 4 * ROWS_FIRST
    pace.end(4 * ROWS_FIRST)
    assert pace.begin() == 10 * ROWS_FIRST
    pace.end(10 * ROWS_FIRST)
