"""The SQL of this package, in one file per statement beside the code that uses it."""

import functools
from importlib import resources


def statement(package: str, name: str, **expressions: object) -> str:
    """Returns the text of the file with `{names}` filled in."""
    return _text(package, name).format(**expressions)


@functools.cache
def _text(package: str, name: str) -> str:
    """Also works if the package is in an archive."""
    return resources.files(package).joinpath(f"{name}.sql").read_text()
