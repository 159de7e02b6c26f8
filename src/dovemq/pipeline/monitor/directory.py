"""The directory of a monitor: its terms, Spark's checkpoint, the last states and the figures.

The state after batch n depends only on the state after batch n - 1 and the rows of batch n, and
Spark repeats an unfinished batch with the same files. So a batch can be repeated at any time, and a
monitor that was killed continues without a gap. All executors must see the directory.
"""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from dovemq.pipeline.durable import locked, write_durably
from dovemq.pipeline.errors import FolderUnfit, PipelineError
from dovemq.pipeline.monitor.figures import TABLE
from dovemq.pipeline.monitor.watch import Bounds


class MonitorFailed(PipelineError):
    def __init__(self, found: str) -> None:
        super().__init__(f"the monitor has stopped: {found}; start it again to continue")


STATES_KEPT: Final = 2
"""The last state and the one before: Spark may repeat the last batch."""
FIGURES_MAX: Final = 10_000
"""Files of figures, one for each batch; the oldest are removed."""
_DONE: Final = "_SUCCESS"
"""The file that Spark writes last into a directory."""


class Terms(msgspec.Struct, frozen=True):
    """The parameters that stay the same as long as the directory is used; `traces` is the
    source."""

    traces: str
    bounds: Bounds


class MonitorDirectory:
    """Reads and writes the files of a monitor: `monitor.json` (its terms), a folder with the state
    after each of the last batches, a file of figures for each batch, and Spark's checkpoint."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.checkpoint = directory / "checkpoint"
        self._states = directory / "state"
        self._figures = directory / "figures"

    @contextlib.contextmanager
    def held(self, terms: Terms) -> Iterator[None]:
        """Locks the directory for one process, and checks that its terms are the same as before."""
        for folder in (self._states, self._figures):
            folder.mkdir(parents=True, exist_ok=True)
        with locked(self.directory):
            self._agree(terms)
            yield

    def _agree(self, terms: Terms) -> None:
        file = self.directory / "monitor.json"
        if not file.exists():
            write_durably(file, lambda to: to.write_bytes(msgspec.json.encode(terms)))
            return
        try:
            earlier = msgspec.json.decode(file.read_bytes(), type=Terms)
        except msgspec.DecodeError:
            raise FolderUnfit(self.directory, f"{file.name} cannot be read") from None
        if earlier != terms:
            raise FolderUnfit(self.directory, f"it was started with {_terms_text(earlier)}")

    def state(self, batch: int) -> Path:
        return self._states / f"{batch:09d}"

    def has_state(self, batch: int) -> bool:
        return (self.state(batch) / _DONE).exists()

    def state_before(self, batch: int) -> Path | None:
        """Returns None before the first batch."""
        if batch == 0:
            return None
        if not self.has_state(batch - 1):
            raise FolderUnfit(self.directory, f"the state after batch {batch - 1} is gone")
        return self.state(batch - 1)

    def rows_of(self, state: Path | None, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Returns one row per queue; none before the first batch."""
        if state is None:
            return []
        rows: list[dict[str, Any]] = pq.read_table(state, columns=list(columns)).to_pylist()
        return rows

    def write_figures(self, batch: int, rows: Sequence[dict[str, Any]]) -> None:
        """Writes a complete file or none; may be repeated."""
        table = pa.Table.from_pylist(list(rows), TABLE)
        path = self._figures / f"figures-{batch:09d}.parquet"
        write_durably(path, lambda to: pq.write_table(table, to))

    def forget_before(self, batch: int) -> None:
        """Removes states that no batch from this one on needs, and the oldest figures."""
        for state in self._states.iterdir():
            if int(state.name) <= batch - STATES_KEPT:
                shutil.rmtree(state)
        files = sorted(self._figures.glob("figures-*.parquet"))
        for file in files[:-FIGURES_MAX]:
            file.unlink()


def _terms_text(terms: Terms) -> str:
    bounds = terms.bounds
    return (
        f"the traces of {terms.traces}, --late {bounds.late_us / 1e6:g}s, --horizon "
        f"{bounds.horizon_us / 1e6:g}s and --messages-max {bounds.messages_max}"
    )
