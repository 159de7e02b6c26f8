"""Every row that can be read from a damaged database, table by table.

Pages that can be trusted lead from a table's root to its leaves. A page that cannot is read for
the rows on it and not for where it leads; what only it led to is found among the pages that
nothing else reaches. Whether a row from a page that cannot be trusted is whole, the caller must
tell from the row itself.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from dovemq.stores.sqlite.damage.btree import (
    INTERIOR_INDEX,
    INTERIOR_TABLE,
    LEAF_INDEX,
    LEAF_TABLE,
    RawRow,
    children,
    kind_of,
    rows,
)
from dovemq.stores.sqlite.damage.image import Image

SCHEMA_TABLE: Final = "sqlite_schema"
_ROOT_COLUMN: Final = 3
_NAME_COLUMN: Final = 1
_SCHEMA_COLUMNS: Final = 5
_WITH_ROWS: Final = (LEAF_TABLE, LEAF_INDEX, INTERIOR_INDEX)
_INTERIORS: Final = (INTERIOR_TABLE, INTERIOR_INDEX)


class Found(Struct, frozen=True):
    row: RawRow
    page: int
    sound: bool
    """Whether the page, and all that led to it, is as it was written."""


class RowSalvage:
    def __init__(self, image: Image, roots: Mapping[str, int]) -> None:
        self._image = image
        self._roots = dict(roots) or self._read_roots()
        self._reached: set[int] = set()
        self.damaged: dict[int, str] = {}
        """Pages that are not as they were written, with the table that they belong to."""

    def rows(self, table: str) -> Iterator[Found]:
        """Once for each table; nothing when its root is not known."""
        root = self._roots.get(table)
        if root is not None:
            yield from self._walk(table, root)

    def reach_others(self, tables: tuple[str, ...]) -> None:
        """Follow all that `rows` was not asked for: indexes, and the schema."""
        for name, root in {SCHEMA_TABLE: 1, **self._roots}.items():
            if name not in tables:
                for _ in self._walk(name, root):
                    pass

    def is_damaged(self, table: str) -> bool:
        return table in self.damaged.values()

    def unreached(self) -> Iterator[Found]:
        """Rows of pages that nothing leads to, after everything was followed.

        None when it is not known which of them are free: those hold rows that were deleted.
        """
        free = self._image.free_pages()
        if free is None:
            return
        for number in range(2, self._image.page_count + 1):
            if number in self._reached or number in free:
                continue
            page = self._image.page(number)
            if page is not None and kind_of(page.data, number) is not None:
                for row in rows(page.data, number, self._image.data):
                    yield Found(row, number, False)

    def older(self) -> Iterator[Found]:
        """Rows of all pages in all versions, also those that were deleted long ago."""
        for number, data in self._image.older_pages():
            if kind_of(data, number) is None:
                continue
            long = False
            for row in rows(data, number, self._image.data):
                long = long or bool(row.pages) or row.values is None
                yield Found(row, number, False)
            if long:
                for row in rows(data, number, self._image.raw_data):
                    yield Found(row, number, False)

    def _walk(self, table: str, root: int) -> Iterator[Found]:
        stack = [root]
        while stack:
            number = stack.pop()
            page = self._image.page(number)
            if page is None or number in self._reached:
                self.damaged.setdefault(number, table)
                continue
            self._reached.add(number)
            kind = kind_of(page.data, number)
            if not page.sound:
                self.damaged[number] = table
                # What it says of its kind may be what is damaged.
                for guess in _WITH_ROWS:
                    yield from self._rows(table, page.data, number, guess, sound=False)
                continue
            if kind in _INTERIORS:
                stack += reversed(children(page.data, number))
            yield from self._rows(table, page.data, number, kind, sound=True)

    def _rows(
        self, table: str, data: bytes, number: int, kind: int | None, *, sound: bool
    ) -> Iterator[Found]:
        def fetch(wanted: int) -> bytes | None:
            page = self._image.page(wanted)
            if page is None or not page.sound:
                self.damaged[wanted] = table
            return None if page is None else page.data

        for row in rows(data, number, fetch, kind):
            self._reached.update(row.pages)
            yield Found(row, number, sound)

    def _read_roots(self) -> dict[str, int]:
        """From the schema itself, where no seals tell."""
        self._reached = set()
        self.damaged = {}
        self._roots = {}
        found: dict[str, int] = {}
        for each in self._walk(SCHEMA_TABLE, 1):
            values = each.row.values
            if values is not None and len(values) == _SCHEMA_COLUMNS and values[_ROOT_COLUMN]:
                found[str(values[_NAME_COLUMN])] = int(values[_ROOT_COLUMN])
        return found
