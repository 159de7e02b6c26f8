"""The screens, driven by keys on a fake admin API."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from dovemq.client.errors import Unreachable
from dovemq.core.queue import QueueKey
from dovemq.terminal.app import TopApp
from dovemq.terminal.asking import Listing
from tests.terminal.fakes import ACCOUNT, FakeAdmin, row

PAUSES_MAX = 200
ALERT = {"kind": "no-consumers", "text": "messages wait, and nobody receives"}


@pytest.fixture
def admin() -> FakeAdmin:
    rows = [
        row("orders", visible=30, oldest_age_ms=192_000, alerts=[ALERT]),
        row("invoices", visible=2_000),
        row("dead", visible=1),
    ]
    return FakeAdmin(rows)


@asynccontextmanager
async def shown(
    admin: FakeAdmin, *, size: tuple[int, int] = (80, 24), queue: str | None = None
) -> AsyncIterator[Pilot[int]]:
    key = QueueKey(ACCOUNT, queue) if queue else None
    app = TopApp(admin, "http://127.0.0.1:9325", Listing(), key)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: bool(text(pilot, "#title")))
        yield pilot


async def until(pilot: Pilot[int], holds: Callable[[], bool]) -> None:
    for _ in range(PAUSES_MAX):
        await pilot.pause()
        if holds():
            return
    pytest.fail(f"the screen stays:\n{screen(pilot)}")


def text(pilot: Pilot[int], selector: str) -> str:
    found = pilot.app.screen.query(selector)
    return str(found.first(Static).render()) if found else ""


def screen(pilot: Pilot[int]) -> str:
    """All characters of the screen, line by line."""
    lines = pilot.app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in lines)


def names(pilot: Pilot[int]) -> list[str]:
    table = pilot.app.screen.query_one("#queues", DataTable)
    return [str(table.get_row_at(place)[0]).strip(" !") for place in range(table.row_count)]


async def test_overview_fits_the_classic_terminal(admin: FakeAdmin) -> None:
    async with shown(admin) as pilot:
        await until(pilot, lambda: "orders" in screen(pilot))
        lines = screen(pilot).split("\n")
        assert (len(lines), max(map(len, lines)) <= 80) == (24, True)
        assert "healthy" in lines[0]
        assert lines[1].startswith("3 queues  2.0k visible")
        assert "1 alert: orders no-consumers" in lines
        assert any(line.split()[:2] == ["invoices", "2.0k"] for line in lines)
        assert any(line.startswith("!orders") and "3m12s" in line for line in lines)
        assert "Filter" in lines[-1]
        assert "Quit" in lines[-1]


@pytest.mark.parametrize("width", [30, 40, 60, 132])
async def test_overview_fits_terminals_of_other_widths(admin: FakeAdmin, width: int) -> None:
    async with shown(admin, size=(width, 16)) as pilot:
        await until(pilot, lambda: "invoices" in screen(pilot))
        table = pilot.app.screen.query_one("#queues", DataTable)
        assert table.virtual_size.width <= width


async def test_columns_stand_apart_and_are_as_wide_as_the_names(admin: FakeAdmin) -> None:
    async with shown(admin, size=(150, 16)) as pilot:
        await until(pilot, lambda: "invoices" in screen(pilot))
        heads, *lines = screen(pilot).split("\n")[4:8]
        assert heads.split()[-2:] == ["CONSUMERS", "ALERT"]
        line = next(each for each in lines if each.startswith("!orders"))
        assert line.split()[-2:] == ["0", "no-consumers"]
        assert heads.index("VISIBLE") < 30, "the names are short"
        admin.rows.append(row("x" * 50))
        await pilot.press("r")
        await until(pilot, lambda: f" {'x' * 50} " in screen(pilot))
        admin.rows.pop()
        await pilot.resize_terminal(60, 16)
        await until(pilot, lambda: pilot.app.screen.query_one("#queues").virtual_size.width <= 60)


async def test_keys_choose_the_column_and_the_order(admin: FakeAdmin) -> None:
    async with shown(admin) as pilot:
        await until(pilot, lambda: names(pilot) == ["dead", "invoices", "orders"])
        await pilot.press(">")
        await until(pilot, lambda: names(pilot) == ["invoices", "orders", "dead"])
        assert text(pilot, "#listing") == "by visible, falling"
        await pilot.press("r")
        await until(pilot, lambda: names(pilot) == ["dead", "orders", "invoices"])
        await pilot.press("<")
        await until(pilot, lambda: names(pilot) == ["dead", "invoices", "orders"])


async def test_filter_lists_queues_whose_name_contains_the_text(admin: FakeAdmin) -> None:
    async with shown(admin) as pilot:
        await until(pilot, lambda: len(names(pilot)) == 3)
        await pilot.press("/", *"ord")
        await until(pilot, lambda: names(pilot) == ["orders"])
        assert text(pilot, "#listing") == 'by name, rising; filter "ord" finds 1'
        await pilot.press("escape")
        await until(pilot, lambda: len(names(pilot)) == 3)


async def test_enter_opens_the_queue_under_the_cursor_and_escape_leads_back(
    admin: FakeAdmin,
) -> None:
    async with shown(admin) as pilot:
        await until(pilot, lambda: len(names(pilot)) == 3)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "30 visible" in text(pilot, "#counts"))
        assert "alert no-consumers: messages wait, and nobody receives" in text(pilot, "#counts")
        assert "visible           7 ▁▂▃▄▅▆▇█" in text(pilot, "#curves")
        assert {"history orders", "clients orders"} <= set(admin.asked)
        await pilot.press("escape")
        await until(pilot, lambda: len(names(pilot)) == 3)
        table = pilot.app.screen.query_one("#queues", DataTable)
        assert table.cursor_row == 2


async def test_cursor_stays_on_its_queue_when_others_move(admin: FakeAdmin) -> None:
    async with shown(admin) as pilot:
        await until(pilot, lambda: len(names(pilot)) == 3)
        await pilot.press("down")
        admin.rows.append(row("a-new-one"))
        await pilot.press("r", "r")
        await until(pilot, lambda: names(pilot) == ["a-new-one", "dead", "invoices", "orders"])
        assert pilot.app.screen.query_one("#queues", DataTable).cursor_row == 2


async def test_queue_page_shows_clients_as_plain_texts(admin: FakeAdmin) -> None:
    client = {
        "peer": "192.0.2.1:5000",
        "account": ACCOUNT,
        "role": "consumer",
        "agent": "[red]evil\x1b[2J",
        "first_ms": 0,
        "last_ms": 1_699_999_997_000,
        "requests": 1_234,
    }
    admin.clients_listed = [client]
    async with shown(admin, queue="orders") as pilot:
        await until(pilot, lambda: "consumer" in screen(pilot))
        line = next(each for each in screen(pilot).split("\n") if each.startswith("consumer "))
        assert line.split() == ["consumer", "192.0.2.1:5000", "1.2k", "3s", "[red]evil?[2J"]
        heads = next(each for each in screen(pilot).split("\n") if each.startswith("ROLE "))
        for head, value in (("REQUESTS", "1.2k"), ("LAST", "3s")):
            assert heads.index(head) + len(head) == line.index(value) + len(value)


async def test_lost_server_is_one_line_and_the_figures_stay(admin: FakeAdmin) -> None:
    async with shown(admin) as pilot:
        await until(pilot, lambda: len(names(pilot)) == 3)
        admin.failure = Unreachable("http://127.0.0.1:9325", "Connection refused")
        await pilot.press(">")
        await until(pilot, lambda: "Connection refused" in text(pilot, "#trouble"))
        assert "(next request in 2 s)" in text(pilot, "#trouble")
        assert len(names(pilot)) == 3
        admin.failure = None
        await pilot.press("r")
        await until(pilot, lambda: not pilot.app.screen.query_one("#trouble").display)


@pytest.mark.parametrize(("key", "result"), [("q", None), ("ctrl+c", 2)])
async def test_keys_end_the_program(admin: FakeAdmin, key: str, result: int | None) -> None:
    async with shown(admin) as pilot:
        await pilot.press(key)
        await until(pilot, lambda: not pilot.app.is_running)
    assert pilot.app.return_value == result


async def test_nothing_is_coloured_if_no_color_is_set(
    admin: FakeAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with shown(admin) as pilot:
        await until(pilot, lambda: "orders" in screen(pilot))
        filters = pilot.app._filters
        assert [type(each).__name__ for each in filters if each.enabled] == ["NoColor"]
