"""The kernels of the consistency metrics against the paper's examples and a brute-force oracle."""

import itertools
import pickle
import sys
from collections.abc import Sequence

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.models.consistency import (
    LOWEST_SEQ,
    METRICS,
    Consistency,
    ConsistencyTally,
    OrderTally,
    measure,
    order_of,
    patience,
)
from dovemq.models.consistency.patience import Extend, Piles
from tests.models import oracle

FORMS: dict[str, Extend] = {
    "plain": patience.extend_plain,
    "compiled": patience.extend_compiled(),
}
both_forms = pytest.mark.parametrize("extend", FORMS.values(), ids=FORMS)

receives = st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=30)
rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 9), st.booleans(), st.booleans()), max_size=60
)
cuts = st.lists(st.integers(0, 60), max_size=6)


def split(length: int, places: Sequence[int]) -> list[slice]:
    ends = sorted({0, length, *(place for place in places if place < length)})
    return [slice(start, end) for start, end in itertools.pairwise(ends)]


@both_forms
@pytest.mark.parametrize(
    ("received", "rate", "displacement"),
    [
        ((1, 2, 3, 4, 5), 0.0, 0.0),
        ((2, 1, 3, 4, 5), 0.2, 0.4),
        ((2, 3, 4, 5, 1), 0.2, 1.6),
        ((5, 4, 3, 2, 1), 0.8, 2.4),
    ],
)
def test_examples_of_the_paper_come_out(
    received: Sequence[int], rate: float, displacement: float, extend: Extend
) -> None:
    found = order_of(received, extend)
    assert found.out_of_order_rate == pytest.approx(rate)
    assert found.average_displacement == pytest.approx(displacement)


def test_duplicates_do_not_count_against_the_order() -> None:
    assert order_of([1, 2, 1, 3, 2, 4]) == Consistency(duplicates=2, ordered=4)


def test_order_is_that_of_the_messages_that_came() -> None:
    assert order_of([10, 40, 90]) == Consistency(ordered=3)


@both_forms
@settings(deadline=None)
@given(values=st.lists(st.integers(0, 40), unique=True), places=cuts)
def test_piles_find_the_longest_increasing_subsequence(
    values: list[int], places: list[int], extend: Extend
) -> None:
    piles = Piles(extend)
    for part in split(len(values), places):
        piles.add(np.array(values[part], np.int64))
    assert piles.longest == oracle.longest_increasing(values)


@both_forms
@given(sent=st.lists(st.integers(1, 14)), received=receives, places=cuts, buffer=st.integers(1, 8))
@settings(max_examples=200, deadline=None)
def test_tally_equals_the_oracle_however_it_is_cut_into_batches(
    sent: list[int],
    received: list[oracle.Receive],
    places: list[int],
    buffer: int,
    extend: Extend,
) -> None:
    tally = ConsistencyTally(extend=extend, buffered_rows_max=buffer)
    for part in split(len(received), places):
        seqs = np.array([number for number, _ in received[part]], np.int64)
        tally.received(np.zeros_like(seqs), seqs, [right for _, right in received[part]])
    for part in split(len(sent), places):
        tally.sent(np.zeros(len(sent[part]), np.int64), np.array(sent[part], np.int64))
    assert tally.result() == oracle.consistency(sent, received)


@given(events=rows, places=cuts, buffer=st.integers(1, 8))
@settings(max_examples=200, deadline=None)
def test_streams_are_measured_apart_and_added_up(
    events: list[tuple[int, int, bool, bool]], places: list[int], buffer: int
) -> None:
    tally = ConsistencyTally(buffered_rows_max=buffer)
    for part in split(len(events), places):
        for is_send in (True, False):
            chosen = [event for event in events[part] if event[2] == is_send]
            streams = np.array([event[0] for event in chosen], np.int64)
            seqs = np.array([event[1] for event in chosen], np.int64)
            if is_send:
                tally.sent(streams, seqs)
            else:
                tally.received(streams, seqs, [event[3] for event in chosen])
    expected = {
        stream: oracle.consistency(
            [seq for at, seq, is_send, _ in events if at == stream and is_send],
            [(seq, right) for at, seq, is_send, right in events if at == stream and not is_send],
        )
        for stream in {event[0] for event in events}
    }
    assert tally.by_stream() == expected
    assert tally.result() == sum(expected.values(), Consistency())


@both_forms
def test_long_shuffled_stream_equals_itself_in_one_batch(extend: Extend) -> None:
    rng = np.random.default_rng(4)
    seqs = np.argsort(np.arange(20_000) + rng.normal(0, 50, 20_000)) + 1
    whole, parts = OrderTally(extend=extend), OrderTally(extend=extend)
    whole.add(seqs)
    for part in np.array_split(seqs, 97):
        parts.add(part)
    assert parts.result() == whole.result() == order_of(seqs)
    assert whole.result().out_of_order > 0


def test_state_of_a_complete_stream_is_its_disorder_and_not_its_length() -> None:
    tally = OrderTally()
    state_bytes = []
    for start in range(1, 50_001, 10):
        tally.add(np.arange(start, start + 10)[::-1].copy())
        assert len(tally.seen.open) == 0
        state_bytes.append(len(pickle.dumps(tally)))
    # Only counters grow, by a few bytes.
    assert max(state_bytes) < state_bytes[0] + 64
    assert tally.result() == Consistency(ordered=50_000, out_of_order=45_000, displacement=250_000)


def test_message_that_never_comes_keeps_what_came_after_it_open() -> None:
    tally = OrderTally()
    tally.add(np.arange(2, 102))
    assert len(tally.seen.open) == 100
    tally.add(np.array([1]))
    assert len(tally.seen.open) == 0
    assert tally.result() == Consistency(ordered=101, out_of_order=1, displacement=200)


def test_what_is_given_up_frees_what_came_after_it_and_does_not_count() -> None:
    tally = OrderTally()
    tally.add(np.array([2, 4, 3, 7]))
    tally.give_up(6)
    assert tally.seen.open.tolist() == [7]
    tally.add(np.array([5, 6, 1]))
    assert len(tally.seen.open) == 0
    assert tally.result() == order_of([2, 4, 3, 7, 6]) + Consistency(duplicates=2)


@given(
    values=st.lists(st.integers(1, 40), unique=True),
    places=cuts,
    lags=st.lists(st.integers(0, 30), min_size=8, max_size=8),
)
@settings(max_examples=200, deadline=None)
def test_order_kept_between_processes_equals_the_oracle(
    values: list[int], places: list[int], lags: list[int]
) -> None:
    tally = OrderTally(LOWEST_SEQ)
    for part, lag in zip(split(len(values), places), lags, strict=False):
        tally = OrderTally.resumed(tally.kept())
        tally.add(np.array(values[part], np.int64))
        # Nothing that still comes is given up, so that nothing may change.
        tally.give_up(min(values[part.stop :], default=40) - lag)
    expected = oracle.consistency([], [(value, True) for value in values])
    assert tally.result() == expected


def test_columns_of_arrow_are_taken_as_they_are() -> None:
    streams = pyarrow.chunked_array([[0, 0, 1], [0, 1]])
    seqs = pyarrow.chunked_array([pyarrow.array([2, 1, 1], pyarrow.int32()), [3, 1]])
    intact = pyarrow.array([True, True, False, True, False])
    found = measure((streams, seqs), (streams, seqs), intact)
    assert found == Consistency(
        messages=4, duplicates=1, corrupted=1, ordered=4, out_of_order=1, displacement=2
    )


@pytest.mark.parametrize("column", [pyarrow.array([1, None, 3]), [1.5, 2.5]], ids=["null", "float"])
def test_columns_that_are_not_whole_numbers_are_refused(column: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        order_of(column)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        ConsistencyTally().sent([1, 2], [1])


def test_columns_may_be_reused_after_they_were_added() -> None:
    tally = ConsistencyTally()
    seqs = np.array([1, 2, 3])
    tally.received(np.zeros(3, np.int64), seqs)
    seqs[:] = 9
    assert tally.result() == Consistency(ordered=3)


def test_number_below_the_first_is_refused() -> None:
    tally = ConsistencyTally()
    tally.sent([0], [0])
    with pytest.raises(ValueError, match="a number from"):
        tally.result()


def test_plain_form_is_used_where_numba_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    patience.best_extend.cache_clear()
    try:
        assert patience.best_extend() is patience.extend_plain
    finally:
        patience.best_extend.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ImportError):
        patience.extend_compiled()


def test_every_metric_is_a_figure_of_the_result() -> None:
    found = measure(([0, 0], [1, 2]), ([0, 0], [1, 1]), [False, False])
    assert set(found.rates) == set(METRICS)
    assert found.rates == {
        "duplication_rate": 0.5,
        "loss_rate": 1.0,
        "out_of_order_rate": 0.0,
        "average_displacement": 0.0,
    }
