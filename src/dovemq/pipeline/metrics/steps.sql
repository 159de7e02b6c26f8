-- What matching needs of each row: numbers alone, ids as two hashes.
SELECT
    (CASE event WHEN 'sent' THEN {sent} WHEN 'leased' THEN {leased} ELSE {left} END)::TINYINT
        AS step,
    queue_key,
    (hash(queue || '/' || message_id) >> 1)::BIGINT AS id_high,
    (hash(message_id || '/' || queue) >> 1)::BIGINT AS id_low,
    moment_us,
    coalesce((hash(sender) >> 1)::BIGINT, {never}) AS sender_key,
    coalesce(send_seq, {never}) AS send_seq,
    front_end_key,
    coalesce(receive_seq, {never}) AS receive_seq,
    coalesce(body_crc32::BIGINT, {never}) AS body_crc32
FROM events
WHERE message_id IS NOT NULL AND event NOT IN ('missed', 'exchanged')
