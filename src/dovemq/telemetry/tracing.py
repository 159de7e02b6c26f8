"""A running trace: its recorder and its writer thread."""

import asyncio
from collections.abc import Callable, Iterator

from msgspec import Struct

from dovemq.core.locations import parse_location
from dovemq.settings import SettingInvalid, Settings
from dovemq.system.extras import extra_missing
from dovemq.telemetry.metrics import MetricSample
from dovemq.telemetry.trace import Trace
from dovemq.telemetry.writing import TraceWriter


class TraceStatus(Struct, frozen=True):
    """The fate of the rows of a trace since the start of the server.

    `rows_waiting` are with the writer. `files` and `bytes` are those of the folder when the last
    file was written, None before that. `error` is the last failure; it lasts while `failing`.
    """

    location: str
    rows_written: int
    rows_dropped: int
    rows_waiting: int
    files: int | None
    bytes: int | None
    failing: bool
    error: str | None


class Tracing:
    def __init__(self, trace: Trace, writer: TraceWriter, location: str) -> None:
        self.trace = trace
        self._writer = writer
        self._location = location

    @property
    def status(self) -> TraceStatus:
        writer = self._writer
        return TraceStatus(
            self._location,
            rows_written=writer.rows_written,
            rows_dropped=self.trace.rows_dropped + writer.rows_failed,
            rows_waiting=writer.rows_waiting,
            files=writer.files_kept,
            bytes=writer.bytes_kept,
            failing=writer.failing,
            error=writer.error,
        )

    async def close(self) -> None:
        """Write all rows to complete files, unless the storage fails."""
        self.trace.close()
        await asyncio.to_thread(self._writer.close)

    def samples(self) -> Iterator[MetricSample]:
        status = self.status
        yield MetricSample("dovemq_trace_rows_total", status.rows_written, ("written",))
        yield MetricSample("dovemq_trace_rows_total", status.rows_dropped, ("dropped",))


def open_tracing(
    settings: Settings, front_end: str, now_ns: Callable[[], int], epoch_ns: int
) -> Tracing | None:
    """Start the trace that the settings ask for; None if they ask for none.

    It must be called on the event loop that uses the trace. `now_ns` must never go backwards;
    `epoch_ns` is the time at which it was zero.
    """
    if settings.trace is None:
        return None
    try:
        # Only here: the base install has no Arrow.
        from dovemq.telemetry.columns import TraceOrigin
        from dovemq.telemetry.files import RotationLimits, TraceFiles
        from dovemq.telemetry.remote import FolderUnusable, open_folder
    except ImportError as error:
        found = f"{error.name or 'pyarrow'} is not installed"
        raise SettingInvalid("trace", found, extra_missing("trace")) from None
    rotation = RotationLimits(
        settings.trace_rotate_rows, settings.trace_rotate_seconds, settings.trace_bytes_max
    )
    location = parse_location(settings.trace)
    try:
        folder = open_folder(location)
    except FolderUnusable as error:
        raise SettingInvalid("trace", str(error), "name another place by --trace") from None
    files = TraceFiles(folder, TraceOrigin(front_end, epoch_ns), rotation, now_ns)
    writer = TraceWriter(files)
    trace = Trace(writer, now_ns, asyncio.get_running_loop())
    return Tracing(trace, writer, str(location))
