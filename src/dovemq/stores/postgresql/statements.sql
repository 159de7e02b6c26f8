-- The statements of the PostgreSQL store. Each is a transaction of its own, at READ COMMITTED.

-- name: lock_schema
SELECT pg_advisory_xact_lock(1146050117, hashtext($1))

-- name: find_schema
SELECT to_regnamespace($1) IS NOT NULL,
       to_regclass($1 || '.schema_version') IS NOT NULL

-- name: find_version
SELECT version FROM schema_version

-- name: set_version
UPDATE schema_version SET version = $1

-- name: open_log
INSERT INTO heads AS head (queue, partition, epoch) VALUES ($1, $2, $3)
ON CONFLICT (queue, partition) DO UPDATE SET epoch = excluded.epoch
WHERE head.epoch <= excluded.epoch

-- name: append
-- The lock on the head orders appends and new epochs: either the new owner waits for this append
-- and then sees it, or this append waits for the new epoch, reads the head again and writes nothing.
-- The repeated append of a group writes it again, so that its commit is as durable as the first.
INSERT INTO groups (queue, partition, position, contents)
SELECT queue, partition, $4, $5 FROM heads
WHERE queue = $1 AND partition = $2 AND epoch = $3
FOR SHARE
ON CONFLICT (queue, partition, position) DO UPDATE SET contents = excluded.contents

-- name: read
SELECT position, contents FROM groups
WHERE queue = $1 AND partition = $2 AND position = ANY ($3::bigint[])

-- name: scan
-- A page ends after $4 rows, or with the group that makes it longer than $5 bytes.
SELECT position, contents FROM (
    SELECT position, contents,
           sum(octet_length(contents)) OVER (ORDER BY position) - octet_length(contents) AS bytes
    FROM groups
    WHERE queue = $1 AND partition = $2 AND position >= $3
    ORDER BY position
    LIMIT $4
) AS page
WHERE bytes < $5
ORDER BY position

-- name: trim
DELETE FROM groups
WHERE queue = $1 AND partition = $2 AND position = ANY (ARRAY(
    SELECT position FROM groups
    WHERE queue = $1 AND partition = $2 AND position < $3
    ORDER BY position
    LIMIT $4
))

-- name: bookmark
SELECT bookmark FROM heads WHERE queue = $1 AND partition = $2

-- name: set_bookmark
UPDATE heads SET bookmark = $4
WHERE queue = $1 AND partition = $2 AND epoch = $3 AND bookmark < $4

-- name: remove_head
DELETE FROM heads WHERE queue = $1 AND partition = $2

-- name: get
SELECT name, value, version FROM records WHERE kind = $1 AND name = $2

-- name: all
SELECT name, value, version FROM records WHERE kind = $1 ORDER BY name

-- name: create
-- The stamp changes in the same transaction as the record, and its row lock puts all such
-- transactions in one order: a reader that sees a stamp sees every change that it counts.
WITH written AS (
    INSERT INTO records (kind, name, value, version) VALUES ($2, $3, $4, 1)
    ON CONFLICT (kind, name) DO NOTHING
    RETURNING version
), stamped AS (
    UPDATE stamps SET changes = changes + 1 WHERE $1::boolean AND EXISTS (SELECT FROM written)
)
SELECT version FROM written

-- name: replace
WITH written AS (
    UPDATE records SET value = $4, version = version + 1
    WHERE kind = $2 AND name = $3 AND version = $5
    RETURNING version
), stamped AS (
    UPDATE stamps SET changes = changes + 1 WHERE $1::boolean AND EXISTS (SELECT FROM written)
)
SELECT version FROM written

-- name: remove
WITH written AS (
    DELETE FROM records WHERE kind = $2 AND name = $3 AND version = $4
    RETURNING version
), stamped AS (
    UPDATE stamps SET changes = changes + 1 WHERE $1::boolean AND EXISTS (SELECT FROM written)
)
SELECT version FROM written

-- name: stamp
SELECT changes FROM stamps

-- name: ledger_get
SELECT kind, name, value, state, type, due_ms, version FROM ledger WHERE kind = $1 AND name = $2

-- name: ledger_create
INSERT INTO ledger (kind, name, value, state, type, due_ms, version)
VALUES ($1, $2, $3, $4, $5, $6, 1)
ON CONFLICT (kind, name) DO NOTHING
RETURNING version

-- name: ledger_replace
UPDATE ledger SET value = $3, state = $4, type = $5, due_ms = $6, version = version + 1
WHERE kind = $1 AND name = $2 AND version = $7
RETURNING version

-- name: ledger_remove
DELETE FROM ledger WHERE kind = $1 AND name = $2 AND version = $3 RETURNING version

-- name: ledger_page
-- A page ends after $7 rows, or with the entry that makes it longer than $8 bytes.
SELECT kind, name, value, state, type, due_ms, version FROM (
    SELECT *, sum(octet_length(value)) OVER (ORDER BY name) - octet_length(value) AS bytes
    FROM (
        SELECT * FROM ledger
        WHERE kind = $1 AND name > $2 AND name >= $3 AND name < $4
            AND ($5::text IS NULL OR state = $5) AND ($6::text IS NULL OR type = $6)
        ORDER BY name LIMIT $7
    ) AS found
) AS page
WHERE bytes <= $8
ORDER BY name

-- name: ledger_due
SELECT kind, name, value, state, type, due_ms, version FROM (
    SELECT *, sum(octet_length(value)) OVER (ORDER BY due_ms, name) - octet_length(value) AS bytes
    FROM (
        SELECT * FROM ledger WHERE kind = $1 AND due_ms <= $2 ORDER BY due_ms, name LIMIT $3
    ) AS found
) AS page
WHERE bytes <= $4
