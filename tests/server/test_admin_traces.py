"""The state of the lifecycle trace over the admin API."""

from pathlib import Path

from dovemq.telemetry.tracing import TraceStatus
from tests.server.admin_world import World

TRACE = "/v1/traces"


async def test_server_without_a_trace_says_so(tmp_path: Path) -> None:
    assert await World(tmp_path).get(TRACE) == {"on": False}


async def test_trace_is_shown_with_its_place_its_rows_and_its_last_failure(tmp_path: Path) -> None:
    world = World(tmp_path)
    status = TraceStatus("s3://traces/a", 100, 3, 20, 4, 9_000, failing=True, error="OSError: no")
    world.context.trace_status = lambda: status
    assert await world.get(TRACE) == {
        "on": True,
        "location": "s3://traces/a",
        "rows_written": 100,
        "rows_dropped": 3,
        "rows_waiting": 20,
        "files": 4,
        "bytes": 9_000,
        "failing": True,
        "error": "OSError: no",
    }
