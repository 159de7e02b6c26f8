"""Which file it was, when a trace cannot be read to its end.

A footer may be sound and a page behind it not. Engines tell of that in words of their own, and
seldom name the file; so all are read once more, but only then.
"""

import contextlib
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from dovemq.pipeline.errors import TraceDamaged
from dovemq.pipeline.metrics.sources import READ, TraceFile, Traces


@contextlib.contextmanager
def damage_named(traces: Traces) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        for file in traces.files:
            if (reason := _damage(file)) is not None:
                raise TraceDamaged(file.path, reason) from error
        raise


def _damage(file: TraceFile) -> str | None:
    try:
        with pq.ParquetFile(file.path) as opened:
            for group in range(opened.num_row_groups):
                opened.read_row_group(group, list(READ))
    except (pa.ArrowException, OSError) as error:
        return str(error).splitlines()[0]
    return None
