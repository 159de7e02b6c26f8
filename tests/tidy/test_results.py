"""The results in docs/results are small, in their full form, and listed on their page."""

from collections.abc import Iterator

from dovemq.experiments.provenance import FULL
from dovemq.experiments.results import read_results
from tools.results import PAGE, RESULTS, results_page

FILE_BYTES_MAX = 500_000
KEPT = (".csv", ".json", ".svg")
PASSED_OVER = (".parquet", ".png", ".html")
"""Files that `dovemq reproduce` writes there and git ignores."""


def _files() -> Iterator[tuple[str, int]]:
    for path in RESULTS.iterdir():
        if path != PAGE and path.suffix not in PASSED_OVER:
            yield path.name, path.stat().st_size


def test_page_of_results_is_what_the_results_say() -> None:
    assert PAGE.read_text() == results_page(), "run make docs"


def test_kept_files_are_small_and_belong_to_a_result() -> None:
    named = {f"{each.id}.json" for each in read_results(RESULTS)}
    named |= {name for each in read_results(RESULTS) for name in each.files}
    assert not [name for name, size in _files() if name not in named or size > FILE_BYTES_MAX]
    assert all(name.endswith(KEPT) for name, _ in _files())


def test_kept_results_are_full_ones_of_a_commit() -> None:
    results = read_results(RESULTS)
    assert results
    for each in results:
        assert not each.failed, each.id
        assert each.run is not None, each.id
        assert each.run.form == FULL, each.id
        assert each.run.commit, each.id
        assert not each.run.commit.endswith("+"), each.id
