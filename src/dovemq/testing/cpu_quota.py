"""A limit on the CPU of processes, by a control group of the kernel.

Takes version 1 or 2 of control groups, whichever has the controller `cpu`. Only root may make a
group, unless the machine's administrator has delegated one.
"""

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final, Self

from dovemq.core.errors import DoveError

ROOT: Final = Path("/sys/fs/cgroup")
PERIOD_MS: Final = 20
"""The kernel's own 100 ms would stop a process for tens of milliseconds at a time."""
_QUOTA_US_MIN: Final = 1_000
"""The kernel refuses less."""
_CONTROLLER: Final = "cpu"


class QuotaNotPermitted(DoveError):
    """This machine does not let this process limit the CPU of others."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"The CPU of a process cannot be limited here: {found}. Run it as root on a machine "
            "whose control groups have the controller cpu and can be written."
        )


class QuotaTooSmall(DoveError):
    def __init__(self, share: float, least: float) -> None:
        super().__init__(f"A quota of {share:g} of a core is too small: take at least {least:g}.")


class CpuQuota:
    """`with CpuQuota(0.1) as quota:` then `quota.add(pid)`; the group ends with the block.

    The processes run without a limit afterwards.
    """

    def __init__(self, share: float, *, period_ms: int = PERIOD_MS, root: Path = ROOT) -> None:
        """`share` is that of one core, for all added processes together."""
        self.share = share
        self.period_us = 1_000 * period_ms
        self.quota_us = round(share * self.period_us)
        if self.quota_us < _QUOTA_US_MIN:
            raise QuotaTooSmall(share, _QUOTA_US_MIN / self.period_us)
        self._root = root
        self._group: Path | None = None
        self.version = 0
        """The version of control groups; 0 before the start."""

    @property
    def text(self) -> str:
        """Says how the limit is made, for reports."""
        return (
            f"control groups v{self.version}: {self.quota_us / 1_000:g} ms of CPU in every "
            f"{self.period_us / 1_000:g} ms ({self.share:.0%} of a core)"
        )

    def start(self) -> Self:
        hierarchy, self.version = _hierarchy(self._root)
        group = hierarchy / f"dovemq-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            if self.version == 2:
                _enable(hierarchy)
            group.mkdir()
            self._group = group
            self._set_quota(group)
        except OSError as error:
            self.stop()
            raise QuotaNotPermitted(f"{group}: {error.strerror}") from None
        return self

    def add(self, pid: int) -> None:
        """Move a process with all its threads into the group; its later children belong to it."""
        assert self._group is not None, "the quota was not started"
        (self._group / "cgroup.procs").write_text(str(pid))

    def throttled_periods(self) -> tuple[int, int]:
        """Return in how many periods the processes were stopped, and in how many they ran."""
        assert self._group is not None, "the quota was not started"
        lines = (self._group / "cpu.stat").read_text().splitlines()
        figures = {name: int(value) for name, value in map(str.split, lines)}
        return figures.get("nr_throttled", 0), figures.get("nr_periods", 0)

    def stop(self) -> None:
        """Move the processes back and remove the group."""
        group, self._group = self._group, None
        if group is None:
            return
        with contextlib.suppress(OSError):
            for pid in (group / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    # It may have ended.
                    (group.parent / "cgroup.procs").write_text(pid)
        with contextlib.suppress(OSError):
            group.rmdir()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _set_quota(self, group: Path) -> None:
        if self.version == 1:
            (group / "cpu.cfs_period_us").write_text(str(self.period_us))
            (group / "cpu.cfs_quota_us").write_text(str(self.quota_us))
        else:
            (group / "cpu.max").write_text(f"{self.quota_us} {self.period_us}")


def _hierarchy(root: Path) -> tuple[Path, int]:
    """The directory in which groups are made, and the version."""
    for name in (_CONTROLLER, "cpu,cpuacct"):
        if (root / name / "cpu.cfs_quota_us").exists() or (root / name / "tasks").exists():
            return root / name, 1
    controllers = root / "cgroup.controllers"
    if controllers.exists() and _CONTROLLER in controllers.read_text().split():
        return root, 2
    raise QuotaNotPermitted(f"there is no controller {_CONTROLLER} below {root}")


def _enable(hierarchy: Path) -> None:
    """Let groups below have the controller."""
    control = hierarchy / "cgroup.subtree_control"
    if _CONTROLLER not in control.read_text().split():
        control.write_text(f"+{_CONTROLLER}")
