"""The SQL of this package: one file per question, beside the code that asks it."""

import functools
from importlib import resources


def statement(package: str, name: str, **expressions: object) -> str:
    """The file's text with `{names}` filled in."""
    return _text(package, name).format(**expressions)


@functools.cache
def _text(package: str, name: str) -> str:
    """Also where the package is an archive."""
    return resources.files(package).joinpath(f"{name}.sql").read_text()
