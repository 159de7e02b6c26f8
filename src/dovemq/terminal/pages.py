"""The screens: the overview with its table of queues, and one queue."""

from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static

from dovemq.core.queue import QueueKey
from dovemq.terminal.asking import SORTS, Asking, Listing
from dovemq.terminal.columns import GAP, QueueColumn, fitting_columns, is_first, is_text
from dovemq.terminal.lines import (
    clock_text,
    connection_lines,
    curve_lines,
    health_text,
    overview_lines,
    queue_lines,
)
from dovemq.terminal.pictures import (
    Document,
    OverviewPicture,
    QueuePicture,
    overview_picture,
    queue_picture,
)

SCROLLBAR: Final = 2
_ALERT: Final = "bold red"
_FALLING, _RISING = "▼", "▲"


class TerminalPage(Screen[None]):
    """A screen that is shown anew from documents of the admin API."""

    class Changed(Message):
        """The page needs other documents, at once."""

    def __init__(self, asking: Asking, address: str) -> None:
        super().__init__()
        self._asking = asking
        self._address = address

    def tell(self, text: str | None) -> None:
        """Show why there is nothing new, or nothing for None."""
        line = self.query_one("#trouble", Static)
        line.display = text is not None
        line.update(Text(text or "", style=_ALERT))

    def _put(self, name: str, *lines: Text | str) -> None:
        shown = [
            Text(line, no_wrap=True, overflow="ellipsis") if isinstance(line, str) else line
            for line in lines
        ]
        self.query_one(f"#{name}", Static).update(Text("\n").join(shown))


def _marked(lines: list[str]) -> list[Text | str]:
    """The lines, with those about alerts marked."""
    return [
        Text(line, style=_ALERT, no_wrap=True, overflow="ellipsis")
        if "alert" in line and not line.startswith("no ")
        else line
        for line in lines
    ]


class QueueTable(DataTable[Text]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "Open")]


class OverviewPage(TerminalPage):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("greater_than_sign,s", "sort(1)", "Sort by next", key_display=">"),
        Binding("less_than_sign", "sort(-1)", "previous", key_display="<"),
        Binding("r", "reverse", "Reverse"),
        Binding("escape", "clear", "Clear", show=False),
        Binding("q", "app.leave", "Quit"),
    ]

    def __init__(self, asking: Asking, address: str, listing: Listing) -> None:
        super().__init__(asking, address)
        self.listing = listing
        self._picture: OverviewPicture | None = None
        self._heads: list[Text] = []
        self._widths: list[int] = []
        self._rows: dict[str, list[Text]] = {}

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="totals", markup=False)
        yield Static(id="trouble", markup=False)
        yield Input(placeholder="part of ACCOUNT/NAME", id="filter", compact=True)
        yield QueueTable(id="queues", cursor_type="row", cell_padding=0)
        yield Static(id="listing", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#filter").display = False
        self.tell(None)
        self._table.focus()
        self.post_message(self.Changed())

    @property
    def _table(self) -> DataTable[Text]:
        return self.query_one("#queues", QueueTable)

    async def ask(self) -> Document:
        return await self._asking.overview(self.listing)

    def show(self, found: Document) -> None:
        self._picture = picture = overview_picture(found)
        title = f"{clock_text(picture.at_ms)}  {health_text(picture)}  {self._address}"
        self._put("title", title)
        self._put("totals", *_marked(overview_lines(picture)))
        self._fill()

    def _fill(self) -> None:
        """Show the rows. The cursor stays on its queue, and only changed cells are drawn."""
        picture = self._picture
        if picture is None:
            return
        columns = fitting_columns(self.size.width - SCROLLBAR, picture.lines)
        rows = {
            line.key: [
                _cell(column, column.cell(line), _ALERT if line.alerts else "")
                for column in columns
            ]
            for line in picture.lines
        }
        heads = [self._head(column) for column in columns]
        widths = [_width(column) for column in columns]
        if (heads, widths, [*rows]) == (self._heads, self._widths, [*self._rows]):
            self._update(columns, rows)
        else:
            self._rebuild(columns, heads, rows)
        self._heads, self._widths, self._rows = heads, widths, rows
        self._put("listing", self._listing_text(picture))

    def _update(self, columns: list[QueueColumn], rows: dict[str, list[Text]]) -> None:
        for key, cells in rows.items():
            for column, cell, before in zip(columns, cells, self._rows[key], strict=True):
                if (cell, cell.style) != (before, before.style):
                    self._table.update_cell(key, column.sort, cell)

    def _rebuild(
        self, columns: list[QueueColumn], heads: list[Text], rows: dict[str, list[Text]]
    ) -> None:
        table = self._table
        current, top = self.selected, table.scroll_y
        table.clear(columns=True)
        for column, head in zip(columns, heads, strict=True):
            table.add_column(head, width=_width(column), key=column.sort)
        for key, cells in rows.items():
            table.add_row(*cells, key=key)
        if current in rows:
            table.move_cursor(row=[*rows].index(current), scroll=False)
        table.scroll_to(y=top, animate=False, force=True)

    def _head(self, column: QueueColumn) -> Text:
        arrow = (_FALLING if self.listing.falling else _RISING) if self._sorts(column) else ""
        return _cell(column, f"{column.head}{arrow}"[: _width(column)], "bold")

    def _sorts(self, column: QueueColumn) -> bool:
        return column.sort == self.listing.sort

    def _listing_text(self, picture: OverviewPicture) -> str:
        listing = self.listing
        order = "falling" if listing.falling else "rising"
        found = (
            f'; filter "{listing.contains}" finds {picture.matching}' if listing.contains else ""
        )
        shown = len(picture.lines)
        part = f"; the first {shown} of {picture.matching}" if shown < picture.matching else ""
        return f"by {listing.sort}, {order}{found}{part}"

    @property
    def selected(self) -> str | None:
        """The key of the queue under the cursor."""
        table = self._table
        if not table.is_valid_coordinate(table.cursor_coordinate):
            return None
        return table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value

    def on_resize(self, event: Resize) -> None:
        self._fill()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        self.action_open()

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        name = event.column_key.value or "name"
        self._list(name, falling=not self.listing.falling if name == self.listing.sort else True)

    def on_input_changed(self, event: Input.Changed) -> None:
        self.listing = Listing(event.value, self.listing.sort, self.listing.falling)
        self.post_message(self.Changed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._table.focus()

    def action_open(self) -> None:
        if (key := self.selected) is not None:
            self.app.push_screen(QueuePage(self._asking, self._address, QueueKey.parse(key)))

    def action_filter(self) -> None:
        line = self.query_one("#filter", Input)
        line.display = True
        self.set_focus(line)

    def action_clear(self) -> None:
        line = self.query_one("#filter", Input)
        line.value = ""
        line.display = False
        self._table.focus()

    def action_sort(self, step: int) -> None:
        place = (SORTS.index(self.listing.sort) + step) % len(SORTS)
        self._list(SORTS[place], falling=SORTS[place] != "name")

    def action_reverse(self) -> None:
        self._list(self.listing.sort, falling=not self.listing.falling)

    def _list(self, sort: str, *, falling: bool) -> None:
        self.listing = Listing(self.listing.contains, sort, falling)
        self.post_message(self.Changed())


class QueuePage(TerminalPage):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,b,backspace", "back", "Back", key_display="Esc"),
        Binding("q", "app.leave", "Quit"),
    ]

    def __init__(self, asking: Asking, address: str, key: QueueKey) -> None:
        super().__init__(asking, address)
        self.key = key
        self._picture: QueuePicture | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        with Vertical(id="figures"):
            yield Static(id="counts", markup=False)
            yield Static(id="curves", markup=False)
        yield Static(id="trouble", markup=False)
        yield DataTable[Text](id="connections", cursor_type="none", cell_padding=0)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.tell(None)
        self._put("title", str(self.key))
        self._table.focus()
        self.post_message(self.Changed())

    @property
    def _table(self) -> DataTable[Text]:
        return self.query_one("#connections", DataTable)

    async def ask(self) -> Document:
        return await self._asking.queue(self.key)

    def show(self, found: Document) -> None:
        self._picture = picture = queue_picture(found)
        self._put("title", f"{clock_text(picture.at_ms)}  {picture.key}  {self._address}")
        self._put("counts", *_marked(queue_lines(picture)))
        self._show_curves()
        table = self._table
        top = table.scroll_y
        table.clear(columns=True)
        heads, *rows = connection_lines(picture)
        table.add_column(Text(heads, style="bold"))
        for row in rows:
            table.add_row(Text(row))
        table.scroll_to(y=top, animate=False, force=True)

    def _show_curves(self) -> None:
        if self._picture is not None:
            self._put("curves", *curve_lines(self._picture.history, self.size.width))

    def on_resize(self, event: Resize) -> None:
        self._show_curves()

    def action_back(self) -> None:
        self.app.pop_screen()
        self.post_message(self.Changed())


def _width(column: QueueColumn) -> int:
    """The width with the gap before it."""
    return column.width + (0 if is_first(column) else GAP)


def _cell(column: QueueColumn, text: str, style: str) -> Text:
    if not is_text(column):
        return Text(text, style=style, justify="right")
    return Text(text if is_first(column) else f"{' ' * GAP}{text}", style=style)
