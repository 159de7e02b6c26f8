"""Which engine is worth its start."""

import importlib.util
from typing import Final

from dovemq.pipeline.errors import JavaUnfit
from dovemq.pipeline.java import check_java

DUCKDB_ROWS_MAX: Final = 20_000_000
"""One minute's work; beyond it a session of Spark costs little beside the work itself."""


def engine_for(rows: int) -> str:
    if rows <= DUCKDB_ROWS_MAX or importlib.util.find_spec("pyspark") is None:
        return "duckdb"
    try:
        check_java()
    except JavaUnfit:
        return "duckdb"
    return "spark"
