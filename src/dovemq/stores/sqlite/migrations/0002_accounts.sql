-- `record` is the whole account with the secrets of its keys; the other columns are for constraints.
CREATE TABLE account (
    number TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
