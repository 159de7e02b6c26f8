"""Numbers, ages and curves fit a terminal, and texts of clients cannot control it."""

import pytest

from dovemq.terminal.columns import fitting_columns
from dovemq.terminal.lines import alerts_line
from dovemq.terminal.pictures import Alert, LineRates, QueueLine
from dovemq.terminal.texts import age_text, count_text, curve, plain, rate_text


def _line(name: str, account: str = "000000000000") -> QueueLine:
    return QueueLine(account, name, 1, 0, 0, None, 0, LineRates(), ())


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (12_345, "12.3k"),
        (99_960, "100k"),
        (999_499, "999k"),
        (999_999, "1.0M"),
        (1_000_000, "1.0M"),
        (120_000_000, "120M"),
        (5e15, "5000T"),
    ],
)
def test_counts_take_five_characters_at_most(count: float, text: str) -> None:
    assert count_text(count) == text


@pytest.mark.parametrize(("rate", "text"), [(0, "0"), (0.04, "0.0"), (9.94, "9.9"), (9.96, "10")])
def test_small_rates_have_a_decimal(rate: float, text: str) -> None:
    assert rate_text(rate) == text


@pytest.mark.parametrize(
    ("age_ms", "text"),
    [
        (None, "-"),
        (59_999, "59s"),
        (192_000, "3m12s"),
        (3_600_000, "1h00m"),
        (90_000_000, "1d01h"),
    ],
)
def test_ages_have_their_two_largest_units(age_ms: int | None, text: str) -> None:
    assert age_text(age_ms) == text


def test_curve_begins_at_zero_and_keeps_peaks_when_values_are_joined() -> None:
    assert curve([0, 1, 2, 4], 10) == "▁▃▅█"
    assert curve([0, 0, 0, 9, 0, 0], 3) == "▁█▁"
    assert curve([100, 101], 10) == "██"
    assert curve([0, 0], 10) == "▁▁"
    assert curve([], 10) == curve([1], 0) == ""


def test_texts_of_clients_lose_control_characters_and_length() -> None:
    assert plain("boto3\x1b[2J\n", 40) == "boto3?[2J?"
    assert plain("a" * 9, 5) == "aaaa…"


@pytest.mark.parametrize("width", range(16, 140))
def test_table_is_never_wider_than_the_terminal(width: int) -> None:
    columns = fitting_columns(width, [_line("orders")])
    assert columns[0].sort == "name"
    assert sum(column.width + 1 for column in columns) - 1 <= width


def test_narrow_terminals_keep_the_most_important_columns() -> None:
    assert [each.sort for each in fitting_columns(43, [])] == [
        "name",
        "visible",
        "age",
        "consumers",
    ]
    assert [each.sort for each in fitting_columns(120, [])][-1] == "alerts"


def test_accounts_are_named_where_there_are_several() -> None:
    mine, other = _line("orders"), _line("orders", "111111111111")
    assert fitting_columns(80, [mine])[0].cell(mine) == " orders"
    assert fitting_columns(120, [mine, other])[0].cell(other) == " 111111111111/orders"


def test_alerts_beyond_three_are_counted() -> None:
    alerts = tuple(Alert("paused", "", f"q{number}") for number in range(5))
    assert alerts_line(alerts, 5) == "5 alerts: q0 paused, q1 paused, q2 paused and 2 more"
