"""The SQL of this package: one file per question, with the expressions that it shares."""

from importlib import resources


def statement(name: str, **expressions: object) -> str:
    """The file's text with `{names}` filled in; also where the package is an archive."""
    return resources.files(__package__).joinpath(f"{name}.sql").read_text().format(**expressions)
