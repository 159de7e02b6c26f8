-- Statements that fill a new database with what was read from a damaged one.

-- name: entries_without_body
SELECT queue, partition, sequence, message_id FROM entry
WHERE NOT EXISTS (SELECT 1 FROM body WHERE body.sequence = entry.sequence)
ORDER BY queue, partition, sequence

-- name: note_entries
CREATE TEMP TABLE with_entry AS SELECT sequence FROM entry ORDER BY sequence;
CREATE UNIQUE INDEX temp.with_entry_sequence ON with_entry (sequence)

-- name: bodies_without_entry
SELECT sequence, crc32, record FROM body
WHERE sequence NOT IN (SELECT sequence FROM with_entry) ORDER BY sequence

-- name: all_bodies
SELECT sequence, crc32, record FROM body ORDER BY sequence

-- name: first_bodies
SELECT body.sequence, body.crc32, body.record FROM body
WHERE body.sequence IN (SELECT min(sequence) FROM entry GROUP BY queue)

-- name: set_id
UPDATE OR IGNORE entry
SET message_id = ?1, adopted_id = CASE WHEN adopted_id IS NULL THEN NULL ELSE ?1 END
WHERE queue = ?2 AND partition = ?3 AND sequence = ?4

-- name: select_meta
SELECT key, value FROM meta

-- name: newest_sequence
SELECT coalesce(max(sequence), 0) FROM body

-- name: raise_numbers
UPDATE sqlite_sequence SET seq = max(seq, ?2) + ?3 WHERE name = ?1
