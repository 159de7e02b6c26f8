"""Reads rows from single pages of a SQLite database, damaged pages included.

Knows the file format and not the meaning of the rows. A cell that cannot be decoded is skipped.
A row that comes out may still be wrong: the caller checks the checksum in the row.

    page:  header | cell pointers … | free | … cells          (page 1: after 100 bytes of header)
    cell:  payload length | rowid (tables) | payload | number of the first overflow page, if any
    payload:  header length | type of each value … | values …
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Struct

PAGE_ONE_HEADER_BYTES: Final = 100
PAYLOAD_BYTES_MAX: Final = 16 * 1024 * 1024
"""Far above the largest message; a greater length is damaged."""

LEAF_TABLE: Final = 0x0D
LEAF_INDEX: Final = 0x0A
INTERIOR_TABLE: Final = 0x05
INTERIOR_INDEX: Final = 0x02

_LEAVES: Final = (LEAF_TABLE, LEAF_INDEX)
_TABLES: Final = (LEAF_TABLE, INTERIOR_TABLE)
_KINDS: Final = (LEAF_TABLE, LEAF_INDEX, INTERIOR_TABLE, INTERIOR_INDEX)
_VARINT_BYTES_MAX: Final = 9
_INTEGER_BYTES: Final = (0, 1, 2, 3, 4, 6, 8)
_REAL: Final = 7
_ZERO: Final = 8
_ONE: Final = 9
_BLOB: Final = 12

Values = list[Any]
Fetch = Callable[[int], bytes | None]
"""Returns the page of this number; used for the overflow pages of long rows."""


class Undecodable(Exception):
    """Bytes that are no cell or no record. Handled within this module."""


class RawRow(Struct):
    """A row as it was read, unchecked.

    `rowid` is None in an index. `values` is None when an overflow page is missing; `pages` are the
    overflow pages.
    """

    rowid: int | None
    values: Values | None
    pages: list[int]


def kind_of(page: bytes, number: int) -> int | None:
    kind = page[_start(number)]
    return kind if kind in _KINDS else None


def children(page: bytes, number: int) -> list[int]:
    """Page numbers of the children of an interior page, in order."""
    start = _start(number)
    found = [int.from_bytes(page[at : at + 4], "big") for at in _cells(page, start, 12)]
    found.append(int.from_bytes(page[start + 8 : start + 12], "big"))
    return found


def rows(page: bytes, number: int, fetch: Fetch, kind: int | None = None) -> Iterator[RawRow]:
    """Every row on the page. `kind` replaces what the page says of its own kind."""
    start = _start(number)
    kind = kind if kind is not None else page[start]
    if kind == INTERIOR_TABLE:
        return
    header_bytes = 8 if kind in _LEAVES else 12
    for at in _cells(page, start, header_bytes):
        try:
            yield _row(page, at if kind in _LEAVES else at + 4, kind in _TABLES, fetch)
        except (Undecodable, IndexError, struct.error, UnicodeDecodeError):
            continue


def _cells(page: bytes, start: int, header_bytes: int) -> Iterator[int]:
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    first = start + header_bytes
    for place in range(first, min(first + 2 * count, len(page) - 1), 2):
        at = int.from_bytes(page[place : place + 2], "big")
        if first <= at <= len(page) - 4:
            yield at


def _row(page: bytes, at: int, table: bool, fetch: Fetch) -> RawRow:
    length, at = _varint(page, at)
    rowid = None
    if table:
        rowid, at = _varint(page, at)
    if length > PAYLOAD_BYTES_MAX:
        raise Undecodable
    local = _local_bytes(length, len(page), table)
    head = page[at : at + local]
    if len(head) != local:
        raise Undecodable
    if local == length:
        return RawRow(rowid, _record(head), [])
    at += local
    rest, pages = _rest(int.from_bytes(page[at : at + 4], "big"), length - local, fetch)
    return RawRow(rowid, None if rest is None else _record(head + rest), pages)


def _local_bytes(length: int, usable: int, table: bool) -> int:
    most = usable - 35 if table else (usable - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    wanted = least + (length - least) % (usable - 4)
    return wanted if wanted <= most else least


def _rest(number: int, length: int, fetch: Fetch) -> tuple[bytes | None, list[int]]:
    pieces: list[bytes] = []
    pages: list[int] = []
    seen: set[int] = set()
    while length > 0:
        page = fetch(number) if number not in seen else None
        if page is None:
            return None, pages
        seen.add(number)
        pages.append(number)
        pieces.append(page[4 : 4 + length])
        length -= len(pieces[-1])
        number = int.from_bytes(page[:4], "big")
    return b"".join(pieces), pages


def _record(payload: bytes) -> Values:
    header_bytes, at = _varint(payload, 0)
    if header_bytes > len(payload):
        raise Undecodable
    values: Values = []
    body = header_bytes
    length = len(payload)
    while at < header_bytes:
        code = payload[at]
        # Most values are integers or NULL, whose type takes one byte.
        if code < len(_INTEGER_BYTES):
            at += 1
            end = body + _INTEGER_BYTES[code]
            if end > length:
                raise Undecodable
            values.append(int.from_bytes(payload[body:end], "big", signed=True) if code else None)
            body = end
            continue
        code, at = _varint(payload, at)
        value, body = _value(payload, body, code)
        values.append(value)
    return values


def _value(payload: bytes, at: int, code: int) -> tuple[Any, int]:
    if code == _REAL:
        return struct.unpack_from(">d", payload, at)[0], at + 8
    if code in (_ZERO, _ONE):
        return code - _ZERO, at
    end = at + (code - _BLOB) // 2
    if code < _BLOB or end > len(payload):
        raise Undecodable
    piece = payload[at:end]
    return (piece.decode() if code % 2 else piece), end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    if value < 0x80:
        return value, at + 1
    value = 0
    for count in range(1, _VARINT_BYTES_MAX):
        byte = data[at]
        at += 1
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at
        if count == _VARINT_BYTES_MAX - 1:
            value = (value << 8) | data[at]
            at += 1
    return value - (1 << 64) if value >= 1 << 63 else value, at


def _start(number: int) -> int:
    return PAGE_ONE_HEADER_BYTES if number == 1 else 0
