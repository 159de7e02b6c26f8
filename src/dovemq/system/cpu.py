"""The use of the CPU by this process, as a share of what it may use.

The server does its work in one thread, the event loop, so it can use one core at most. A control
group may allow it less.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

CORES_MAX: Final = 1.0
"""The cores that a process with one event loop can use."""
_ROOT: Final = Path("/sys/fs/cgroup")
_GROUPS: Final = Path("/proc/self/cgroup")


class CpuUse:
    """Utilisation between two looks. `cpu_seconds` and `monotonic_seconds` are the clocks.

    `cores` tells how many cores may be used: it is asked at each look, since a quota can change.
    """

    def __init__(
        self,
        cpu_seconds: Callable[[], float],
        monotonic_seconds: Callable[[], float],
        cores: Callable[[], float],
    ) -> None:
        self._cpu_seconds = cpu_seconds
        self._monotonic_seconds = monotonic_seconds
        self._cores = cores
        self._used = cpu_seconds()
        self._looked = monotonic_seconds()

    def look(self) -> float:
        """The share of the quota that was used since the last look; 0 if no time has passed."""
        used, now = self._cpu_seconds(), self._monotonic_seconds()
        spent, passed = used - self._used, now - self._looked
        self._used, self._looked = used, now
        return max(spent / (passed * self._cores()), 0.0) if passed > 0 else 0.0


def cpu_cores(root: Path = _ROOT, groups: Path = _GROUPS) -> float:
    """The cores that this process may use: its quota, or one core if that is less or none is set.

    The quota is the least one of its control group and of the groups around it.
    """
    quotas = [CORES_MAX]
    with contextlib.suppress(OSError):
        for line in groups.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                quotas += _quotas(root, path, _quota_of_unified)
            elif "cpu" in controllers.split(","):
                quotas += _quotas(root / "cpu", path, _quota_of_cpu_group)
    return min(quotas)


def _quotas(root: Path, path: str, quota: Callable[[Path], float | None]) -> list[float]:
    """The quotas of a group and of those around it, as far as they can be read."""
    group = PurePosixPath(path.lstrip("/"))
    found: list[float] = []
    for each in (group, *group.parents):
        if ".." in each.parts:
            # In a container the path of the group may be one of the machine outside.
            continue
        with contextlib.suppress(OSError, ValueError):
            cores = quota(root / each)
            if cores is not None:
                found.append(cores)
    return found


def _quota_of_unified(group: Path) -> float | None:
    quota, period = (group / "cpu.max").read_text().split()
    return None if quota == "max" else int(quota) / int(period)


def _quota_of_cpu_group(group: Path) -> float | None:
    quota = int((group / "cpu.cfs_quota_us").read_text())
    return None if quota <= 0 else quota / int((group / "cpu.cfs_period_us").read_text())
