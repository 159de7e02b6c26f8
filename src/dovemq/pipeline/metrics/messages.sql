-- One row for each message: its first send, its first lease, and when it left.
CREATE TEMP TABLE messages AS
WITH sends AS (
    SELECT queue, message_id, moment_us AS sent_us, sender, send_seq, body_crc32
    FROM events
    WHERE event = 'sent'
    QUALIFY row_number() OVER (PARTITION BY queue, message_id ORDER BY moment_us) = 1
),
leases AS (
    SELECT queue, message_id, moment_us AS leased_us, front_end, receive_seq, sender, send_seq
    FROM events
    WHERE event = 'leased'
    -- Equal times are ordered by the front end and its own count of leases.
    QUALIFY row_number() OVER (
        PARTITION BY queue, message_id ORDER BY moment_us, front_end, receive_seq
    ) = 1
),
intact AS (
    -- A checksum that is missing on either side is taken for right.
    SELECT events.queue, events.message_id, bool_or(
        coalesce(events.body_crc32 = sends.body_crc32, true)
    ) AS intact
    FROM events JOIN sends USING (queue, message_id)
    WHERE event = 'leased'
    GROUP BY events.queue, events.message_id
),
leavings AS (
    SELECT queue, message_id, min(moment_us) AS left_us
    FROM events
    WHERE event IN ('settled', 'expired', 'redriven') AND message_id IS NOT NULL
    GROUP BY queue, message_id
)
SELECT
    queue,
    coalesce(leases.sender, sends.sender) AS sender,
    coalesce(leases.send_seq, sends.send_seq) AS send_seq,
    sent_us,
    leased_us,
    front_end,
    receive_seq,
    left_us,
    coalesce(NOT intact, false) AS corrupted
FROM sends
FULL JOIN leases USING (queue, message_id)
FULL JOIN leavings USING (queue, message_id)
LEFT JOIN intact USING (queue, message_id);
