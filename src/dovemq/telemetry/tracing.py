"""A running trace: its recorder, its writer thread, and their orderly end."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dovemq.settings import SettingInvalid, Settings
from dovemq.telemetry.metrics import Sample
from dovemq.telemetry.trace import Trace
from dovemq.telemetry.writing import TraceWriter


class Tracing:
    def __init__(self, trace: Trace, writer: TraceWriter) -> None:
        self.trace = trace
        self._writer = writer

    async def close(self) -> None:
        """All that was recorded is in whole files when this returns, unless the disk fails."""
        self.trace.close()
        await asyncio.to_thread(self._writer.close)

    def samples(self) -> Iterator[Sample]:
        written, failed = self._writer.rows_written, self._writer.rows_failed
        yield Sample("dovemq_trace_rows_total", written, ("written",))
        yield Sample("dovemq_trace_rows_total", self.trace.rows_dropped + failed, ("dropped",))


def open_tracing(settings: Settings, front_end: str, now_us: Callable[[], int]) -> Tracing | None:
    """None when no trace is asked for. Must be called on the loop that goes on to use it."""
    if settings.trace is None:
        return None
    trace, writer = _opened(settings, settings.trace, front_end, now_us)
    return Tracing(trace, writer)


def _opened(
    settings: Settings, directory: Path, front_end: str, now_us: Callable[[], int]
) -> tuple[Trace, TraceWriter]:
    try:
        # Only here: the base install has no Arrow.
        from dovemq.telemetry.files import Rotation, TraceFiles
    except ImportError as error:
        missing = error.name or "pyarrow"
        raise SettingInvalid(
            "trace", f"{missing} is not installed", "pip install 'dovemq[trace]'"
        ) from None
    rotation = Rotation(
        settings.trace_rotate_rows, settings.trace_rotate_seconds, settings.trace_bytes_max
    )
    try:
        files = TraceFiles(directory, front_end, rotation, now_us=now_us, monotonic=time.monotonic)
    except OSError as error:
        found = f"{directory} cannot be used ({error.strerror})"
        raise SettingInvalid("trace", found, "name another directory by --trace") from None
    writer = TraceWriter(files)
    return Trace(writer, now_us, asyncio.get_running_loop()), writer
