"""A running trace: its recorder, its writer thread, and their orderly end."""

import asyncio
from collections.abc import Callable, Iterator

from dovemq.core.locations import parse_location
from dovemq.settings import SettingInvalid, Settings
from dovemq.system.extras import extra_missing
from dovemq.telemetry.metrics import Sample
from dovemq.telemetry.trace import Trace
from dovemq.telemetry.writing import TraceWriter


class Tracing:
    def __init__(self, trace: Trace, writer: TraceWriter) -> None:
        self.trace = trace
        self._writer = writer

    async def close(self) -> None:
        """All that was recorded is in whole files when this returns, unless the storage fails."""
        self.trace.close()
        await asyncio.to_thread(self._writer.close)

    def samples(self) -> Iterator[Sample]:
        written, failed = self._writer.rows_written, self._writer.rows_failed
        yield Sample("dovemq_trace_rows_total", written, ("written",))
        yield Sample("dovemq_trace_rows_total", self.trace.rows_dropped + failed, ("dropped",))


def open_tracing(
    settings: Settings, front_end: str, now_ns: Callable[[], int], epoch_ns: int
) -> Tracing | None:
    """None when no trace is asked for. Must be called on the loop that goes on to use it.

    `now_ns` must never go back; `epoch_ns` is the time at which it was zero.
    """
    if settings.trace is None:
        return None
    try:
        # Only here: the base install has no Arrow.
        from dovemq.telemetry.columns import Origin
        from dovemq.telemetry.files import Rotation, TraceFiles
        from dovemq.telemetry.remote import FolderUnusable, open_folder
    except ImportError as error:
        found = f"{error.name or 'pyarrow'} is not installed"
        raise SettingInvalid("trace", found, extra_missing("trace")) from None
    rotation = Rotation(
        settings.trace_rotate_rows, settings.trace_rotate_seconds, settings.trace_bytes_max
    )
    try:
        folder = open_folder(parse_location(settings.trace))
    except FolderUnusable as error:
        raise SettingInvalid("trace", str(error), "name another place by --trace") from None
    files = TraceFiles(folder, Origin(front_end, epoch_ns), rotation, now_ns)
    writer = TraceWriter(files)
    return Tracing(Trace(writer, now_ns, asyncio.get_running_loop()), writer)
