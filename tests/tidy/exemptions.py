"""The lists of places that may break a rule of tests/tidy, each with its reason.

The lists only shrink: an entry that is no longer needed fails a test. To add one is to change the
design openly.
"""

from collections.abc import Mapping
from typing import Final

SIZES: Final[Mapping[str, str]] = {}
"""`file` or `file:function` to the reason."""

COUNT_MAX: Final = 0

SHARED_CLASS_NAMES: Final[frozenset[str]] = frozenset()
"""Public class names that several modules use."""
