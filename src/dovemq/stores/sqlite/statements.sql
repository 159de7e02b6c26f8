-- Every statement that the running store uses, one section per field of `Statements`.

-- name: insert_body
INSERT INTO body (sequence, crc32, record) VALUES (?, ?, ?)

-- name: insert_entry
INSERT INTO entry
    (queue, partition, sequence, visible_ms, sent_ms, grp, units, message_id, crc32)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: adopt_entry
INSERT INTO entry
    (queue, partition, sequence, visible_ms, sent_ms, receive_count, first_received_ms, grp,
     adopted_id, units, message_id, crc32)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (queue, partition, adopted_id) WHERE adopted_id IS NOT NULL DO NOTHING
RETURNING sequence

-- name: find_adopted
SELECT sequence FROM entry WHERE queue = ? AND partition = ? AND adopted_id = ?

-- name: update_entry
UPDATE entry SET visible_ms = ?, receive_count = ?, first_received_ms = ?, crc32 = ?
WHERE queue = ? AND partition = ? AND sequence = ?

-- name: delete_entry
DELETE FROM entry WHERE queue = ? AND partition = ? AND sequence = ?

-- name: delete_body
DELETE FROM body WHERE sequence = ?

-- name: claim_deduplication
INSERT INTO deduplication (queue, key, expires_ms, message_id, sequence) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (queue, key) DO UPDATE
SET expires_ms = excluded.expires_ms,
    message_id = excluded.message_id,
    sequence = excluded.sequence
WHERE expires_ms <= ?6
RETURNING sequence

-- name: find_deduplication
SELECT message_id, sequence FROM deduplication WHERE queue = ? AND key = ?

-- name: expire_deduplication
DELETE FROM deduplication WHERE (queue, key) IN (
    SELECT queue, key FROM deduplication WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?
)

-- name: forget_deduplication
DELETE FROM deduplication WHERE queue = ? AND expires_ms < ?

-- name: select_bodies
SELECT body.sequence, body.crc32, body.record
FROM carray(?) AS wanted CROSS JOIN body ON body.sequence = wanted.value

-- name: select_body
SELECT sequence, crc32, record FROM body WHERE sequence = ?

-- name: select_entries
SELECT queue, partition, sequence, visible_ms, sent_ms, receive_count, first_received_ms, grp,
    units
FROM entry ORDER BY queue, partition, sequence

-- name: peek_entries
SELECT sequence, visible_ms, receive_count, first_received_ms
FROM entry WHERE queue = ? AND partition = ? AND sequence > ? ORDER BY sequence LIMIT ?

-- name: page_entries
SELECT queue, partition, sequence, visible_ms, sent_ms, receive_count, first_received_ms, grp,
    units, message_id, crc32
FROM entry WHERE (queue, partition, sequence) > (?, ?, ?) ORDER BY queue, partition, sequence LIMIT ?

-- name: count_entries
SELECT count(*) FROM entry

-- name: count_bodies
SELECT count(*) FROM body

-- name: sweep_select
SELECT queue, partition, sequence FROM entry WHERE queue = ? LIMIT ?

-- name: get_meta
SELECT value FROM meta WHERE key = ?

-- name: set_meta
INSERT INTO meta (key, value) VALUES (?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: select_roots
SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0

-- name: insert_queue
INSERT INTO queue (account, name, settings, tags, created_ms, modified_ms, version)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (account, name) DO NOTHING
RETURNING number

-- name: select_queue
SELECT number, account, name, settings, tags, created_ms, modified_ms, version
FROM queue WHERE account = ? AND name = ?

-- name: select_queues
SELECT number, account, name, settings, tags, created_ms, modified_ms, version
FROM queue ORDER BY number

-- name: update_queue
UPDATE queue SET settings = ?, tags = ?, modified_ms = ?, version = version + 1
WHERE number = ? AND version = ?
RETURNING number

-- name: delete_queue
DELETE FROM queue WHERE account = ? AND name = ? RETURNING number

-- name: delete_moves
DELETE FROM move WHERE source = ?

-- name: save_move
INSERT INTO move (move_id, source, record) VALUES (?, ?, ?)
ON CONFLICT (move_id) DO UPDATE SET record = excluded.record

-- name: delete_move
DELETE FROM move WHERE move_id = ?

-- name: select_moves
SELECT record FROM move ORDER BY number

-- name: insert_account
INSERT INTO account (number, name, version, record) VALUES (?, ?, 1, ?)
ON CONFLICT DO NOTHING
RETURNING number

-- name: update_account
UPDATE OR IGNORE account SET name = ?, record = ?, version = version + 1
WHERE number = ? AND version = ?
RETURNING number

-- name: delete_account
DELETE FROM account
WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM queue WHERE queue.account = ?1)
RETURNING number

-- name: select_accounts
SELECT version, record FROM account ORDER BY number

-- name: select_ledger
SELECT kind, name, value, state, type, due_ms, version FROM ledger WHERE kind = ? AND name = ?

-- name: insert_ledger
INSERT INTO ledger (kind, name, state, type, due_ms, version, crc32, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (kind, name) DO NOTHING
RETURNING version

-- name: update_ledger
UPDATE ledger SET state = ?, type = ?, due_ms = ?, version = ?, crc32 = ?, value = ?
WHERE kind = ? AND name = ? AND version = ?
RETURNING version

-- name: delete_ledger
DELETE FROM ledger WHERE kind = ? AND name = ? AND version = ? RETURNING version

-- name: page_ledger
SELECT kind, name, value, state, type, due_ms, version FROM ledger
WHERE kind = ?1 AND name > ?2 AND name >= ?3 AND name < ?4
    AND (?5 IS NULL OR state = ?5) AND (?6 IS NULL OR type = ?6)
ORDER BY name LIMIT ?7

-- name: due_ledger
SELECT kind, name, value, state, type, due_ms, version FROM ledger
WHERE kind = ? AND due_ms <= ? ORDER BY due_ms LIMIT ?

-- name: check_ledger
SELECT kind, name, state, type, due_ms, version, crc32, value FROM ledger
