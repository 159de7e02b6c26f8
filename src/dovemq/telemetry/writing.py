"""The thread that writes the files of the trace. If it fails, rows are lost and counted."""

import logging
import queue
import threading
from typing import TYPE_CHECKING, Final

from dovemq.telemetry.lanes import Chunk

if TYPE_CHECKING:  # It needs Arrow, which the base install does not have.
    from dovemq.telemetry.files import TraceFiles

log = logging.getLogger(__name__)

STOP_SECONDS_MAX: Final = 30.0
ERROR_CHARACTERS_MAX: Final = 300


class TraceWriter:
    """The event loop calls `put`. Rows count as written when their file is complete."""

    def __init__(self, files: "TraceFiles") -> None:
        self.rows_written = 0
        self.rows_failed = 0
        self.files_kept: int | None = None
        """Complete files in the folder, and their bytes, when the last file was written."""
        self.bytes_kept: int | None = None
        self.error: str | None = None
        """The last failure; it stays when later files are written again."""
        self._files = files
        self._rows_put = 0
        self._rows_taken = 0
        self._failing = False
        self._overfull = False
        self._inbox: queue.SimpleQueue[Chunk | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="dovemq-trace", daemon=True)
        self._thread.start()

    @property
    def failing(self) -> bool:
        return self._failing or self._overfull

    @property
    def rows_waiting(self) -> int:
        return self._rows_put - self._rows_taken

    def put(self, chunk: Chunk) -> None:
        self._rows_put += chunk.rows
        self._inbox.put(chunk)

    def close(self) -> None:
        """Wait for the last file. Do not call this on the event loop."""
        self._inbox.put(None)
        self._thread.join(STOP_SECONDS_MAX)
        if self._thread.is_alive():
            rows = self.rows_waiting + self._files.rows
            text = "trace: the last file is incomplete after %d seconds, %d rows may be lost"
            log.warning(text, STOP_SECONDS_MAX, rows)

    def _run(self) -> None:
        running = True
        while running:
            try:
                chunk = self._inbox.get(timeout=self._files.seconds_left)
            except queue.Empty:
                self._attempt(None, last=False)
                continue
            running = chunk is not None
            self._attempt(chunk, last=not running)
            if chunk is not None:
                self._rows_taken += chunk.rows

    def _attempt(self, chunk: Chunk | None, *, last: bool) -> None:
        files = self._files
        try:
            if chunk is not None:
                files.add(chunk)
            if not (last or files.due):
                return
            self.rows_written += files.finish()
            self._failing = False
        except Exception as error:
            self.rows_failed += max(files.rows, chunk.rows if chunk is not None else 0)
            files.discard()
            if not self._failing:
                log.error("trace: rows are lost: %s: %s", type(error).__name__, error)
            self._failing = True
            self.error = _outline(error)
        else:
            self._remove_oldest()

    def _remove_oldest(self) -> None:
        """A failure here loses no rows: the folder only grows."""
        try:
            self.files_kept, self.bytes_kept = self._files.remove_oldest()
            self._overfull = False
        except Exception as error:
            if not self._overfull:
                text = "trace: the oldest files are not removed: %s: %s"
                log.error(text, type(error).__name__, error)
            self._overfull = True
            self.error = _outline(error)


def _outline(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:ERROR_CHARACTERS_MAX]
