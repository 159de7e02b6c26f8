"""Compiles the loops over events with numba.

numba's cache looks only at the file of the compiled function, and would use old code when a callee
in another file has changed; so the name in the cache contains a digest of this package. Inside an
archive nothing is cached: numba would leave a folder for each place of the archive in the user's
cache.
"""

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast

import numpy as np

try:
    import numba
except ImportError as error:
    raise ImportError(
        "the simulation kernels need numba, which the extra 'models' installs", name=error.name
    ) from error

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: Final[Mapping[str, Any]] = {"error_model": "numpy", "_nrt": False}
"""A kernel allocates nothing, so numba need not count references. Counting them for every array at
every step would cost five times the work itself."""


@functools.cache
def code_digest(package: Path) -> str:
    """Returns a digest of all modules of a package; results of other code do not mix with it."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def codes(first: int, end: int) -> Iterator[int]:
    """Numbers that numba treats as values; it would compile a function again for each literal."""
    return (cast(int, np.int64(number)) for number in range(first, end))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A part of a kernel that is inlined, because a call would cost more than its work."""
    compiled: Callable[P, R] = numba.njit(forceinline=True, **_OPTIONS)(function)
    return compiled


def part(function: Callable[P, R]) -> Callable[P, R]:
    """A part of a kernel that is called, because it is long or runs rarely."""
    compiled: Callable[P, R] = numba.njit(**_OPTIONS)(function)
    return compiled


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """A function that is compiled at its first call and runs without the interpreter's lock."""

    @functools.cache
    def compiled() -> Callable[P, R]:
        function.__qualname__ = f"{function.__qualname__}_{code_digest(Path(__file__).parent)}"
        try:
            cached = Path(__file__).exists()
            made: Callable[P, R] = numba.njit(cache=cached, nogil=True, **_OPTIONS)(function)
        except RuntimeError:
            # Neither the folder of the package nor the user's cache can be written.
            made = numba.njit(nogil=True, **_OPTIONS)(function)
        return made

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return compiled()(*args, **kwargs)

    return run
