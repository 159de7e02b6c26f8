"""Builds the library that is loaded before libc into a server whose disk or clock fails.

The machine's own C compiler builds it when it is needed, so no binary has to be trusted.
"""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Final

from dovemq.core.errors import DoveError

_SOURCES: Final = Path(__file__).parent / "shim"
_FLAGS: Final = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
_OFFSET: Final = struct.Struct("<q")
_MILLISECOND_NS: Final = 1_000_000
_ERROR_CHARACTERS_SHOWN: Final = 500


class ShimUnavailable(DoveError):
    def __init__(self, found: str) -> None:
        super().__init__(
            f"faults of disk and clock need Linux and a C compiler: {found}; install gcc, or "
            "leave [disk] and [clock] out"
        )


def build_shim(directory: Path) -> Path:
    if not sys.platform.startswith("linux"):
        raise ShimUnavailable(f"this is {sys.platform}")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise ShimUnavailable("there is neither cc nor gcc")
    shim = directory / "faults.so"
    sources = sorted(str(source) for source in _SOURCES.glob("*.c"))
    built = subprocess.run(
        [compiler, *_FLAGS, "-o", str(shim), *sources, "-ldl", "-lpthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        raise ShimUnavailable(f"{compiler} failed:\n{built.stderr[:_ERROR_CHARACTERS_SHOWN]}")
    return shim


class SkewedClock:
    """Sets the offset of a process's wall clock while it runs."""

    def __init__(self, place: Path, shim: Path) -> None:
        self._file = (place / "skew").resolve()
        self._shim = shim
        self.set(0)

    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._shim), "SKEW_FILE": str(self._file)}

    def set(self, offset_ms: int) -> None:
        """Writes eight bytes at once, so that the process sees the old or the new value."""
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, _OFFSET.pack(offset_ms * _MILLISECOND_NS), 0)
        finally:
            os.close(descriptor)
