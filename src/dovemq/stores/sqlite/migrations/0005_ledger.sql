-- `crc32` covers all other columns but the number, so that a row can be kept when its page is damaged.
CREATE TABLE ledger (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    type TEXT NOT NULL,
    due_ms INTEGER,
    version INTEGER NOT NULL,
    crc32 INTEGER NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (kind, name)
) STRICT;

CREATE INDEX ledger_due ON ledger (kind, due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX ledger_state ON ledger (kind, state, name);
