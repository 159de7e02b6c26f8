"""The SQL of this package: one file per question, with the expressions that both engines share."""

from pathlib import Path

_FOLDER = Path(__file__).parent


def statement(name: str, **expressions: object) -> str:
    """The file's text with `{names}` filled in."""
    return (_FOLDER / f"{name}.sql").read_text().format(**expressions)
