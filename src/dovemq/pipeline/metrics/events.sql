-- Rows that are believed, under the names that everything below uses, and those that are not.
CREATE VIEW events AS
SELECT
    event,
    queue,
    {moment} AS moment_us,
    message_id,
    sender,
    send_seq,
    receive_seq,
    front_end,
    client,
    body_crc32,
    latency_us,
    coalesce(ot_us, {moment}) AS answered_us,
    (hash(queue) >> 1)::BIGINT AS queue_key,
    (hash(front_end) >> 1)::BIGINT AS front_end_key
FROM traces
WHERE ({reason}) IS NULL;

CREATE VIEW disbelieved AS
SELECT filename AS file, {reason} AS reason, 1::BIGINT AS rows, ts_us, event, queue, message_id
FROM traces
WHERE ({reason}) IS NOT NULL;
