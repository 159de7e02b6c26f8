-- What happened to each message of a queue, in order, each beside what happened next.
SELECT
    queue,
    event,
    moment_us,
    receive_count,
    lead(event) OVER by_time AS next_event,
    lead(moment_us) OVER by_time AS next_us,
    lead(receive_count) OVER by_time AS next_count,
    min(CASE event WHEN 'sent' THEN moment_us END) OVER (PARTITION BY queue, message_id) AS sent_us
FROM events
WHERE message_id IS NOT NULL AND event <> 'exchanged'
WINDOW by_time AS (
    PARTITION BY queue, message_id
    -- By name, a lease comes before the settle of the same microsecond.
    ORDER BY moment_us, coalesce(receive_count, 0), event
)
