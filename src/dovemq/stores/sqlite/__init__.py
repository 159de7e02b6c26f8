"""The embedded store: one SQLite database in a data directory of its own."""

from dovemq.stores.sqlite.backup import restore_backup
from dovemq.stores.sqlite.store import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store", "restore_backup"]
