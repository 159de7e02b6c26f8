"""Pages as plain text, for pipes, files and terminals without cursor control."""

from collections.abc import Iterator
from typing import Final

from dovemq.terminal.columns import fitting_columns, is_text
from dovemq.terminal.lines import (
    clock_text,
    connection_lines,
    curve_lines,
    health_text,
    overview_lines,
    queue_lines,
)
from dovemq.terminal.pictures import OverviewPicture, QueuePicture

WIDTH: Final = 100


def overview_page(picture: OverviewPicture) -> str:
    head = f"{clock_text(picture.at_ms)}  {health_text(picture)}"
    return "\n".join([head, *overview_lines(picture), "", *_table(picture)])


def queue_page(picture: QueuePicture) -> str:
    head = f"{clock_text(picture.at_ms)}  {picture.key}"
    curves = curve_lines(picture.history, WIDTH)
    connections = connection_lines(picture)
    return "\n".join([head, *queue_lines(picture), "", *curves, "", *connections])


def _table(picture: OverviewPicture) -> Iterator[str]:
    columns = fitting_columns(WIDTH, picture.lines)
    for cells in (
        [column.head for column in columns],
        *([column.cell(line) for column in columns] for line in picture.lines),
    ):
        yield " ".join(
            cell.ljust(column.width) if is_text(column) else cell.rjust(column.width)
            for cell, column in zip(cells, columns, strict=True)
        ).rstrip()
    if picture.matching > len(picture.lines):
        yield f"{len(picture.lines)} of {picture.matching} queues"
