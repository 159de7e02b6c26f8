-- Valid rows under the names that everything below uses, and the others with their reason.
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
    coalesce(ot_us, {moment}) AS answered_us
FROM trace
WHERE {valid};

CREATE VIEW quarantine AS
SELECT uri AS file, {reason} AS reason, ts_us, event, queue, message_id
FROM trace JOIN files USING (filename)
WHERE NOT ({valid});
