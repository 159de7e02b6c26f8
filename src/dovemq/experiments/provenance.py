"""How and when a figure was made: its arguments, the version, the machine and its load.

Names of hosts and places of files are left out, so that results can be shown to others.
"""

import contextlib
import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

import dovemq
from dovemq.experiments.figure import Effort

GIT_SECONDS_MAX: Final = 10.0
QUICK: Final = "quick"
FULL: Final = "full"
UNKNOWN: Final = ""
_CPUINFO: Final = Path("/proc/cpuinfo")
_MODEL_KEYS: Final = ("model name", "Model", "cpu model")


class Machine(Struct, frozen=True):
    """`cpus` are those that this process may use."""

    cpus: int
    cpu_model: str
    memory_bytes: int
    system: str


class Provenance(Struct, frozen=True):
    """`form` is `quick` or `full`. `commit` is empty outside a git tree, and ends with
    `+` if the tree was changed since.

    Loads are the averages of one minute, of all processes of the machine.
    """

    form: str
    seed: int
    replications: int
    workers: int
    began: str
    duration_s: float
    dovemq: str
    commit: str
    python: str
    machine: Machine
    load_begin: float
    load_end: float


class Recorder:
    """Notes the begin of a run; `ended` gives its provenance."""

    def __init__(self, effort: Effort, now_ms: Callable[[], int]) -> None:
        self._effort = effort
        self._began_ms = now_ms()
        self._began_s = time.monotonic()
        self._load = _load()

    def ended(self) -> Provenance:
        effort = self._effort
        return Provenance(
            form=QUICK if effort.quick else FULL,
            seed=effort.seed,
            replications=effort.replications,
            workers=effort.workers,
            began=f"{datetime.fromtimestamp(self._began_ms // 1_000, UTC):%Y-%m-%dT%H:%M:%SZ}",
            duration_s=round(time.monotonic() - self._began_s, 1),
            dovemq=dovemq.__version__,
            commit=source_commit(Path(dovemq.__file__).resolve().parent),
            python=platform.python_version(),
            machine=this_machine(),
            load_begin=self._load,
            load_end=_load(),
        )


def this_machine() -> Machine:
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(_cpus(), _cpu_model(), memory_bytes, _system())


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in _CPUINFO.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() in _MODEL_KEYS:
                return value.strip()
    return platform.processor() or platform.machine()


def _system() -> str:
    kernel = f"{platform.system()} {platform.release()}"
    with contextlib.suppress(OSError):
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    return kernel


def _load() -> float:
    return round(os.getloadavg()[0], 2)


def source_commit(package: Path) -> str:
    """The commit of the git tree whose `src` has this package; empty for an installed one."""
    tree = package.parent.parent
    if package.parent.name != "src" or not (tree / ".git").exists():
        return UNKNOWN
    commit = _git(tree, "rev-parse", "--short=12", "HEAD")
    changed = commit and _git(tree, "status", "--porcelain", "--", "src")
    return f"{commit}+" if changed else commit


def _git(tree: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(tree), *words],
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return done.stdout.strip()
