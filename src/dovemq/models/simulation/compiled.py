"""How a loop over events becomes machine code: numba's options, its cache, and who lacks numba.

numba's cache looks at the file of the compiled function alone, and would go on using code whose
callees have changed in another file; so the name in the cache carries a digest of this package.
Inside an archive nothing is cached: numba would leave a folder for each place of the archive in
the user's cache.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast

import numpy as np

from dovemq.models.simulation.source import code_digest

try:
    import numba
except ImportError as error:
    raise ImportError(
        "the simulation kernels need numba, which the extra 'models' installs", name=error.name
    ) from error

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: Final[Mapping[str, Any]] = {"error_model": "numpy", "_nrt": False}
"""A kernel allocates nothing, so numba need not count references. It would count those of every
array of the state at every part of every event, which costs five times the work itself."""


def codes(first: int, end: int) -> Iterator[int]:
    """Numbers that are values to numba: for each literal it would compile a function anew."""
    return (cast(int, np.int64(number)) for number in range(first, end))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A part of a kernel: its state is wide, so that a call would cost more than the work."""
    compiled: Callable[P, R] = numba.njit(forceinline=True, **_OPTIONS)(function)
    return compiled


def part(function: Callable[P, R]) -> Callable[P, R]:
    """A part of a kernel that is called rarely, or is long for its arguments."""
    compiled: Callable[P, R] = numba.njit(**_OPTIONS)(function)
    return compiled


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiled at its first call; runs without the interpreter's lock."""

    @functools.cache
    def compiled() -> Callable[P, R]:
        function.__qualname__ = f"{function.__qualname__}_{code_digest(Path(__file__).parent)}"
        try:
            cached = Path(__file__).exists()
            made: Callable[P, R] = numba.njit(cache=cached, nogil=True, **_OPTIONS)(function)
        except RuntimeError:
            # Neither the package's folder nor the user's cache can be written to.
            made = numba.njit(nogil=True, **_OPTIONS)(function)
        return made

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return compiled()(*args, **kwargs)

    return run
