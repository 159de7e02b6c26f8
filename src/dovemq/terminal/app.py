"""The program in the terminal: its screens, its polling, and how it ends."""

import signal
from typing import ClassVar, Final

from textual.app import App
from textual.binding import Binding, BindingType

from dovemq.client.errors import ClientError
from dovemq.core.queue import QueueKey
from dovemq.terminal.asking import Asking, AskingPauses, Listing, TopApi
from dovemq.terminal.pages import OverviewPage, QueuePage, TerminalPage

THEME: Final = "ansi-dark"
"""The terminal's own colours, so that a light terminal stays light."""
_STYLE: Final = """
TerminalPage { layout: vertical; }
#title, #totals, #listing, #counts, #curves, #figures { height: auto; width: 100%; }
#title { text-style: reverse; height: 1; }
#trouble { height: auto; }
#curves { padding: 1 0; }
#filter { height: 1; }
DataTable { height: 1fr; }
DataTable > .datatable--cursor { text-style: reverse; }
DataTable > .datatable--header { text-style: bold; }
"""


class TopApp(App[int]):
    """Begins with the overview, or with a queue above it. Its result is a signal or None."""

    CSS = _STYLE
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("q", "leave", show=False),
    ]

    def __init__(
        self, api: TopApi, address: str, listing: Listing, queue: QueueKey | None = None
    ) -> None:
        # Without colours only for `ansi_color` does the library drop all of them.
        super().__init__(ansi_color=True)
        self._asking = Asking(api)
        self._address = address
        self._listing = listing
        self._queue = queue
        self._pauses = AskingPauses()

    def on_mount(self) -> None:
        self.theme = THEME
        self.push_screen(OverviewPage(self._asking, self._address, self._listing))
        if self._queue is not None:
            self.push_screen(QueuePage(self._asking, self._address, self._queue))
        self.run_worker(self._poll(), exit_on_error=True)

    async def _poll(self) -> None:
        """Ask for what the page on top needs. Drop what arrives before it is there, or later."""
        while self.is_running:
            page = self.screen
            assert isinstance(page, OverviewPage | QueuePage)
            trouble = None
            try:
                found = await page.ask()
                if self._is_on_top(page):
                    page.show(found)
                self._pauses.succeeded()
            except ClientError as error:
                self._pauses.failed()
                trouble = f"{error} (next request in {self._pauses.pause_seconds:g} s)"
            if self._is_on_top(page):
                page.tell(trouble)
            await self._pauses.wait()

    def _is_on_top(self, page: TerminalPage) -> bool:
        return self.screen is page and page.is_mounted

    def on_terminal_page_changed(self, message: TerminalPage.Changed) -> None:
        self._pauses.hurry()

    def action_leave(self) -> None:
        self.exit()

    def action_interrupt(self) -> None:
        self.exit(signal.SIGINT)
