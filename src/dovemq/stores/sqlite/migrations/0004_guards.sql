-- `crc32` covers every column that a receive needs; `message_id` names a message whose body is lost.
-- In rows of older releases the id is NULL, and the checksum until they are next written.
ALTER TABLE entry ADD COLUMN message_id TEXT;
ALTER TABLE entry ADD COLUMN crc32 INTEGER;

-- The catalogue a second time, on pages of its own: a damaged page must not cost a queue.
CREATE TABLE meta_twin (
    key TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_twin (
    number INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    modified_ms INTEGER NOT NULL,
    version INTEGER NOT NULL
) STRICT;

CREATE TABLE move_twin (
    number INTEGER PRIMARY KEY,
    move_id TEXT NOT NULL,
    source TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;

CREATE TABLE account_twin (
    number TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    record TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta_twin SELECT key, value FROM meta;
INSERT INTO queue_twin
SELECT number, account, name, settings, tags, created_ms, modified_ms, version FROM queue;
INSERT INTO move_twin SELECT number, move_id, source, record FROM move;
INSERT INTO account_twin SELECT number, name, version, record FROM account;

-- DELETE and INSERT, since a conflict clause of the outer statement would rule over one in here.
CREATE TRIGGER meta_added AFTER INSERT ON meta BEGIN
    INSERT INTO meta_twin VALUES (new.key, new.value);
END;
CREATE TRIGGER meta_changed AFTER UPDATE ON meta BEGIN
    DELETE FROM meta_twin WHERE key = old.key;
    INSERT INTO meta_twin VALUES (new.key, new.value);
END;
CREATE TRIGGER meta_removed AFTER DELETE ON meta BEGIN
    DELETE FROM meta_twin WHERE key = old.key;
END;

CREATE TRIGGER queue_added AFTER INSERT ON queue BEGIN
    INSERT INTO queue_twin VALUES (
        new.number, new.account, new.name, new.settings, new.tags, new.created_ms,
        new.modified_ms, new.version
    );
END;
CREATE TRIGGER queue_changed AFTER UPDATE ON queue BEGIN
    DELETE FROM queue_twin WHERE number = old.number;
    INSERT INTO queue_twin VALUES (
        new.number, new.account, new.name, new.settings, new.tags, new.created_ms,
        new.modified_ms, new.version
    );
END;
CREATE TRIGGER queue_removed AFTER DELETE ON queue BEGIN
    DELETE FROM queue_twin WHERE number = old.number;
END;

CREATE TRIGGER move_added AFTER INSERT ON move BEGIN
    INSERT INTO move_twin VALUES (new.number, new.move_id, new.source, new.record);
END;
CREATE TRIGGER move_changed AFTER UPDATE ON move BEGIN
    DELETE FROM move_twin WHERE number = old.number;
    INSERT INTO move_twin VALUES (new.number, new.move_id, new.source, new.record);
END;
CREATE TRIGGER move_removed AFTER DELETE ON move BEGIN
    DELETE FROM move_twin WHERE number = old.number;
END;

CREATE TRIGGER account_added AFTER INSERT ON account BEGIN
    INSERT INTO account_twin VALUES (new.number, new.name, new.version, new.record);
END;
CREATE TRIGGER account_changed AFTER UPDATE ON account BEGIN
    DELETE FROM account_twin WHERE number = old.number;
    INSERT INTO account_twin VALUES (new.number, new.name, new.version, new.record);
END;
CREATE TRIGGER account_removed AFTER DELETE ON account BEGIN
    DELETE FROM account_twin WHERE number = old.number;
END;
