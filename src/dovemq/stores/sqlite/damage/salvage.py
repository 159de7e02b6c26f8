"""Finds every row that can be read in a damaged database, table by table.

A table is read from its root to its leaves, through sound pages. The rows of an unsound page are
read too, but its links to other pages are not followed; pages that only it led to are found at the
end, among the pages that nothing else has reached. A row from an unsound page may be wrong: the
caller checks the checksum in the row.
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
    """Whether the page, and every page that led to it, matches its seal."""


class RowSalvage:
    def __init__(self, image: Image, roots: Mapping[str, int]) -> None:
        self._image = image
        self._roots = dict(roots) or self._read_roots()
        self._reached: set[int] = set()
        self.damaged: dict[int, str] = {}
        """Damaged pages, with the name of their table."""

    def rows(self, table: str) -> Iterator[Found]:
        """The rows of a table, which can be read once; none when its root is not known."""
        root = self._roots.get(table)
        if root is not None:
            yield from self._walk(table, root)

    def reach_others(self, tables: tuple[str, ...]) -> None:
        """Follow the tables that `rows` was not called for: indexes, and the schema."""
        for name, root in {SCHEMA_TABLE: 1, **self._roots}.items():
            if name not in tables:
                for _ in self._walk(name, root):
                    pass

    def is_damaged(self, table: str) -> bool:
        return table in self.damaged.values()

    def unreached(self) -> Iterator[Found]:
        """Rows of pages that nothing leads to, after all tables were followed.

        No rows when the list of free pages is damaged: free pages hold deleted rows.
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
        """Rows of all pages in all versions, deleted rows included."""
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
                # The byte that says its kind may be damaged, so all kinds are tried.
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
        """Root pages from the schema, for a database without seals."""
        self._reached = set()
        self.damaged = {}
        self._roots = {}
        found: dict[str, int] = {}
        for each in self._walk(SCHEMA_TABLE, 1):
            values = each.row.values
            if values is not None and len(values) == _SCHEMA_COLUMNS and values[_ROOT_COLUMN]:
                found[str(values[_NAME_COLUMN])] = int(values[_ROOT_COLUMN])
        return found
