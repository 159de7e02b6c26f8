"""The SQL statements of the embedded store, read from `statements.sql`."""

from importlib import resources
from typing import Final

from msgspec import Struct

_MARK: Final = "-- name: "


class Statements(Struct, frozen=True):
    insert_body: str
    insert_entry: str
    adopt_entry: str
    find_adopted: str
    update_entry: str
    delete_entry: str
    delete_body: str
    claim_deduplication: str
    find_deduplication: str
    expire_deduplication: str
    forget_deduplication: str
    select_bodies: str
    select_body: str
    select_entries: str
    peek_entries: str
    page_entries: str
    count_entries: str
    count_bodies: str
    sweep_select: str
    get_meta: str
    set_meta: str
    select_roots: str
    insert_queue: str
    select_queue: str
    select_queues: str
    update_queue: str
    delete_queue: str
    delete_moves: str
    save_move: str
    delete_move: str
    select_moves: str
    insert_account: str
    update_account: str
    delete_account: str
    select_accounts: str


def load_statements() -> Statements:
    return Statements(**read_sections("statements.sql"))


def read_sections(*path: str) -> dict[str, str]:
    text = resources.files(__package__).joinpath(*path).read_text("utf-8")
    sections: dict[str, str] = {}
    for section in text.split(_MARK)[1:]:
        name, _, sql = section.partition("\n")
        sections[name.strip()] = sql.strip()
    return sections
