PRAGMA application_id = 1146050117;

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE queue (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    modified_ms INTEGER NOT NULL,
    version INTEGER NOT NULL,
    UNIQUE (account, name)
) STRICT;

-- Written once, read once, deleted. `crc32` covers the record and the sequence it stands under.
CREATE TABLE body (
    sequence INTEGER PRIMARY KEY,
    crc32 INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT;

-- Narrow, so that recovery reads little; clustered by queue, so that peek and sweep need no index.
CREATE TABLE entry (
    queue INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    visible_ms INTEGER NOT NULL,
    sent_ms INTEGER NOT NULL,
    receive_count INTEGER NOT NULL DEFAULT 0,
    first_received_ms INTEGER NOT NULL DEFAULT 0,
    grp TEXT,
    adopted_id TEXT,
    PRIMARY KEY (queue, partition, sequence)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX entry_adopted ON entry (queue, partition, adopted_id)
WHERE adopted_id IS NOT NULL;

CREATE TABLE deduplication (
    queue INTEGER NOT NULL,
    key BLOB NOT NULL,
    expires_ms INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX deduplication_expires ON deduplication (expires_ms);

CREATE TABLE move (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    move_id TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
